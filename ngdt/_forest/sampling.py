"""The samples and features that each tree of a forest is trained on, and predictions for others."""

from dataclasses import dataclass, replace
from itertools import count, islice
from numbers import Integral
from zlib import crc32

import numpy as np
from scipy.special import softmax

from ngdt._util.validation import number_of_features, warn
from ngdt.optimizers import LinearLeaves

# Largest number of samples that are drawn for a tree, if there are fewer. They are held in memory.
_MAX_DRAWN = 10_000_000
# Share of samples without a prediction above which there is a warning. About one sample in a
# hundred is drawn for each of ten trees.
_MAX_UNKNOWN = 0.01


@dataclass(frozen=True, eq=False)
class Sampling:
    """Numbers of samples and columns that are drawn for each tree, and the way to draw them.

    All draws depend on the seed of the tree only.

    Attributes
    ----------
    bootstrap : bool
        Whether samples are drawn with replacement.
    n_drawn : int or None
        Number of samples. None stands for all without replacement.
    n_columns : int or None
        Number of columns of the table. None stands for all.
    column_of : ndarray of int, shape (n_features,)
        Column of each feature.
    encoder : ClassTargets or None
        Balances the classes of the samples of each tree, unless it is None.
    held_out : ndarray of int, or None
        Samples that are never drawn.
    """

    bootstrap: bool
    n_drawn: int | None
    n_columns: int | None
    column_of: np.ndarray
    encoder: object = None
    held_out: np.ndarray | None = None

    def draw(self, problem):
        """Draw of a tree, which with its seed tells its samples."""
        return _units_of(problem), bool(self.bootstrap), self.n_drawn

    def counts(self, sample_weight, seed, groups=None):
        """Number of times that each sample is drawn, itself or with its group.

        Parameters
        ----------
        sample_weight : ndarray of shape (n_samples,)
            Samples of weight 0 are never drawn.
        seed : int
        groups : ndarray of int, shape (n_samples,), default=None

        Returns
        -------
        ndarray of int, shape (n_samples,)
        """
        drawn = np.flatnonzero(sample_weight)
        if self.held_out is not None:
            drawn = np.setdiff1d(drawn, self.held_out)
        if groups is None:
            drawn = drawn_samples(drawn, self.bootstrap, self.n_drawn, seed)
            return np.bincount(drawn, minlength=len(sample_weight))
        of_group = np.bincount(
            drawn_samples(np.unique(groups[drawn]), self.bootstrap, self.n_drawn, seed),
            minlength=groups.max() + 1)
        counts = np.zeros(len(sample_weight), np.intp)
        counts[drawn] = of_group[groups[drawn]]
        return counts

    def weight(self, problem, seed):
        """The sample weights of a tree.

        Parameters
        ----------
        problem : Problem
        seed : int

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        weight = problem.sample_weight * self.counts(
            problem.sample_weight, seed, problem.groups)
        if self.encoder is None:
            return weight
        return self.encoder.apply_class_weight("balanced", problem.y[:, 0].astype(np.intp), weight)

    def features(self, seed):
        """The features of a tree, ascending; None stands for all.

        Parameters
        ----------
        seed : int

        Returns
        -------
        ndarray of int, or None
        """
        if self.n_columns is None:
            return None
        columns = np.unique(self.column_of)
        drawn = np.random.default_rng([seed, 1]).choice(columns, self.n_columns, replace=False)
        return np.flatnonzero(np.isin(self.column_of, drawn))


def sampling_of(forest, problem, fitted):
    """The sampling that the parameters of a forest mean.

    Parameters
    ----------
    forest : ObliqueForest
    problem : Problem
    fitted : dict
        Fitted attributes that depend on X and y only.

    Returns
    -------
    Sampling
    """
    table, bootstrap = fitted["_table"], forest.bootstrap
    if bootstrap == "auto":
        # Trees of other initializers and optimizers may be equal if their samples are.
        bootstrap = bool(forest.oob_score) or not forest._is_default
    n_drawn = number_of_samples(forest.max_samples, number_of_units(problem), bootstrap)
    if forest.oob_score and n_drawn is None:
        raise ValueError(
            "oob_score needs samples that a tree is not trained on: use bootstrap=True or "
            "max_samples")
    return Sampling(
        bootstrap=bootstrap, n_drawn=n_drawn,
        n_columns=number_of_columns(forest.max_features, len(table.names)),
        column_of=table.column_of,
        encoder=fitted["_targets"] if forest.class_weight == "balanced_subsample" else None)


def number_of_units(problem, held_out=()):
    """Number of training samples, or of their groups, from which a tree draws.

    Parameters
    ----------
    problem : Problem
    held_out : ndarray of int, default=()
        Samples that are not counted.

    Returns
    -------
    int
    """
    samples = problem.training_samples
    if len(held_out):
        samples = np.setdiff1d(samples, held_out)
    return len(samples) if problem.groups is None else len(np.unique(problem.groups[samples]))


def _units_of(problem):
    """The number of samples that a tree draws of or, below 0, a checksum of their groups."""
    samples = problem.training_samples
    groups = samples if problem.groups is None else problem.groups[samples]
    if (np.diff(groups) > 0).all():     # each sample is a group, in the order of the samples
        return len(samples)
    return ~crc32(groups.astype(np.int64))


def drawn_samples(samples, bootstrap, n_drawn, seed):
    """The samples of a tree.

    Parameters
    ----------
    samples : ndarray of int
        To draw from.
    bootstrap : bool
    n_drawn : int or None
        None stands for all.
    seed : int

    Returns
    -------
    ndarray of int, shape (n_drawn,)
        In the order in which they are drawn.
    """
    if n_drawn is None:
        return samples
    return np.random.default_rng([seed, 0]).choice(samples, n_drawn, replace=bootstrap)


def out_of_bag_predictions(problem, sampling, estimators, n_given, drawn=None):
    """Mean prediction of the trees that a sample was not drawn for.

    Parameters
    ----------
    problem : Problem
        Of the whole forest.
    sampling : Sampling
    estimators : sequence of ObliqueTreeClassifier or ObliqueTreeRegressor
        The trees, with their seeds. Those of a trial of kinds have none, and predict nothing here;
        nor do those of an earlier fit with another number of samples, or other groups.
    n_given : int
        Number of samples that `fit` was given.
    drawn : ndarray of int, default=None
        Indices of the samples of the problem among these, ascending. None stands for all.

    Returns
    -------
    ndarray of shape (n_given, n_outputs)
        Probabilities of the classes, or targets in the units of y; NaN for samples that were drawn
        for every tree, and for those that there was no time for.

    Warns
    -----
    UserWarning
        If more than one sample in a hundred has no prediction.
    """
    units, *_ = sampling.draw(problem)
    estimators = [each for each in estimators if each.random_state is not None
                  and getattr(each, "_draw", (None,))[0] == units]
    n_samples = problem.X.shape[0] - len(problem.validation_samples)    # which come last
    total = np.zeros((n_samples, problem.n_outputs))
    n_trees = np.zeros((len(total), 1))
    for estimator in estimators:
        tree = estimator.tree_
        _, bootstrap, n_drawn = estimator._draw    # perhaps of an earlier fit
        counts = replace(sampling, bootstrap=bootstrap, n_drawn=n_drawn).counts(
            problem.sample_weight, estimator.random_state, problem.groups)
        samples = np.flatnonzero(counts[:n_samples] == 0).astype(np.int32)
        predictions = problem.predictions(tree, samples)
        total[samples] += softmax(predictions, axis=1) if problem.loss.is_classifier else (
            predictions)
        n_trees[samples] += 1
    found, known = np.full((n_given, problem.n_outputs), np.nan), n_trees[:, 0] > 0
    places = np.arange(n_given) if drawn is None else drawn[:n_samples]
    found[places[known]] = total[known] / n_trees[known]
    unknown = 1.0 - known.sum() / n_given
    if unknown > _MAX_UNKNOWN:
        warn(f"{unknown:.0%} of the samples have no out-of-bag prediction, as they were drawn for "
             "every tree, or training ended early: use more trees, more time, or a smaller "
             "max_samples")
    return found


def seeds_of(seed, n_trees, used=()):
    """Seeds of the trees of a forest: the first ones do not depend on the number of trees.

    Parameters
    ----------
    seed : int
    n_trees : int
    used : sequence of int
        Seeds of trees that the forest has, which are left out.

    Returns
    -------
    list of int
    """
    seeds = (int(np.random.SeedSequence([seed, t]).generate_state(1)[0] >> 1) for t in count())
    return list(islice((each for each in seeds if each not in used), n_trees))


def optimizer_of(optimizer, features):
    """The optimizer for some of the features, which linear leaves may have been given."""
    if features is None or not isinstance(optimizer, LinearLeaves) or isinstance(
            optimizer.features, str):
        return optimizer
    return replace(optimizer, features=np.flatnonzero(np.isin(features, optimizer.features)))


def number_of_samples(max_samples, n_samples, bootstrap):
    """Number of samples of each tree that `max_samples` means; None for all, not drawn.

    Parameters
    ----------
    max_samples : int, float or None
    n_samples : int
        Of positive weight, or of groups.
    bootstrap : bool

    Returns
    -------
    int or None
    """
    if max_samples is None:
        return n_samples if bootstrap else None
    if isinstance(max_samples, Integral):
        most = max(_MAX_DRAWN, n_samples) if bootstrap else n_samples
        if max_samples > most:
            raise ValueError(
                f"max_samples={max_samples} is more than {most}, the most samples, or groups, that "
                f"are drawn for a tree with bootstrap={bootstrap}")
        return int(max_samples)
    return max(1, round(max_samples * n_samples))


def number_of_columns(max_features, n_columns):
    """Number of columns of each tree that `max_features` means; None for all.

    Parameters
    ----------
    max_features : int, float, "sqrt", "log2" or None
    n_columns : int

    Returns
    -------
    int or None
    """
    n_drawn = number_of_features(max_features, n_columns)
    return None if n_drawn == n_columns else n_drawn
