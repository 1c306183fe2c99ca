"""Training, validation and test samples, folds, and the scores of trees on them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ngdt._training.problem import Problem
from ngdt._util.arrays import log_probabilities

# Number of samples from which "auto" uses a tenth for validation. A tenth of fewer samples is too
# small to choose by, and better used for training.
_AUTO_VALIDATION_SAMPLES = 2000
AUTO_VALIDATION_FRACTION = 0.1
# Number of samples from which a third that is held out replaces the folds: its errors tell enough.
HOLD_OUT_SAMPLES = 2000
N_FOLDS = 3
# Folds that choose the size of a greedy tree, and the numbers of samples from which, and below
# which, there are so many. With three or five folds it was up to four points less accurate, less
# often the more samples there were; of fewer samples, it was not.
_N_PRUNING_FOLDS, MIN_PRUNING_SAMPLES, MAX_PRUNING_SAMPLES = 10, 1000, 20_000
# Least logarithm of a probability of which losses are compared, of one in a million: a linear model
# is all too sure of a sample with gross errors, and a single loss of 1000 would decide.
_MIN_LOG_PROBABILITY = np.log(1e-6)
# Number of groups of a fold from which the errors of each are summed up: the sums of fewer tell so
# little of their spread that hardly any lead would be clear.
MIN_GROUPS = 10


def hold_out(sample_weight, fraction, labels, seed, groups=None):
    """Split the samples, as weights, into training and validation samples.

    Parameters
    ----------
    sample_weight : ndarray of shape (n_samples,)
        Samples of weight zero are ignored.
    fraction : float, "auto" or None
        Share of the samples to validate on. "auto" is a tenth from 2000 samples on.
    labels : ndarray of int, shape (n_samples,), or None
        Strata. The number of validation samples of each is rounded down, so that a rare class stays
        in training.
    seed : int
    groups : ndarray of int, shape (n_samples,), default=None
        Groups of which that share is held out as a whole, and at least one.

    Returns
    -------
    training, validation : ndarray of shape (n_samples,)
        Weights that add up to `sample_weight`. `validation` is None if there are no validation
        samples.
    """
    present = np.flatnonzero(sample_weight)
    if fraction == "auto":
        fraction = AUTO_VALIDATION_FRACTION if len(present) >= _AUTO_VALIDATION_SAMPLES else 0
    if not fraction:
        return sample_weight, None
    units, labels = _units(present, labels, groups)
    shuffled, rank, size = _shuffled(units, labels, seed)
    held_out = shuffled[rank < (size * fraction).astype(np.intp)]
    if groups is not None and len(held_out) == 0 and len(units) > 1:
        held_out = shuffled[size == size.max()][:1]
    samples = _samples_of(held_out, present, groups)
    if len(samples) == 0:
        return sample_weight, None
    validation = np.zeros_like(sample_weight)
    validation[samples] = sample_weight[samples]
    return sample_weight - validation, validation


def held_out_of(problem, fraction):
    """`hold_out` by the classes, the groups and the seed of a problem."""
    return hold_out(problem.sample_weight, fraction, strata_of(problem), problem.random_state,
                    problem.groups)


def strata_of(problem):
    """Class of each sample, by which samples are divided; None for regression."""
    return problem.y[:, 0].astype(np.intp) if problem.loss.is_classifier else None


def numbered_groups(problem, samples):
    """Number of the group of each sample, in the order in which groups come.

    Parameters
    ----------
    problem : Problem
    samples : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of int, shape (n,)
        From 0 on. Without groups, each sample is one.
    """
    if problem.groups is None:
        return np.arange(len(samples))
    _, first, group = np.unique(
        problem.groups[samples], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def problem_of(problem, samples, scaling=None):
    """The problem of some samples, which are copied.

    Parameters
    ----------
    problem : Problem
    samples : ndarray of int
    scaling : Scaling, default=None
        None measures it on these samples.

    Returns
    -------
    Problem
    """
    arrays = {name: getattr(problem, name) for name in (
        "X", "y", "sample_weight", "validation_weight", "groups")}
    found = problem.replace(**{
        name: array[samples] for name, array in arrays.items() if array is not None})
    return found if scaling is None else found.knowing(scaling=scaling)


def fold_samples(problem):
    """Test samples of each fold: of `N_FOLDS` folds, or of one if there are many samples.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    list of ndarray of int32
        Stratified for classification. Empty if there are fewer than two samples per fold. Where
        there are groups, they are divided in the place of samples, and counted; two are enough.
        The only one are validation samples that are given apart.
    """
    if problem.own_validation:
        return [problem.validation_samples]
    groups, samples = problem.groups, problem.training_samples
    n_units = len(samples) if groups is None else len(np.unique(groups[samples]))
    if n_units < 2 * N_FOLDS and groups is None:
        return []
    folds = _divided(problem, N_FOLDS)
    return folds[:1] if n_units >= HOLD_OUT_SAMPLES else folds


def pruning_folds(problem):
    """Test samples of each fold by which the size of a greedy tree is chosen.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    list of ndarray of int32
        As `fold_samples` or, of a moderate number of samples, of more folds.
    """
    n_samples = len(problem.training_samples)
    is_moderate = MIN_PRUNING_SAMPLES <= n_samples < MAX_PRUNING_SAMPLES
    if is_moderate and not problem.own_validation:
        return _divided(problem, _N_PRUNING_FOLDS)
    return fold_samples(problem)


def _divided(problem, n_folds):
    """Test samples of so many folds, or of one for each group if there are fewer groups."""
    samples, groups = problem.training_samples, problem.groups
    units, labels = _units(samples, strata_of(problem), groups)
    if len(units) < 2:
        return []
    # The largest groups are dealt out first, so that folds are of about the same size.
    size = None if groups is None else np.bincount(groups[samples])
    shuffled, rank, _ = _shuffled(units, labels, problem.random_state, size)
    n_folds = min(n_folds, len(units))
    fold = rank % n_folds
    if len(np.unique(fold)) < n_folds:      # every class has fewer samples than there are folds
        fold = np.arange(len(shuffled)) % n_folds
    return [np.sort(_samples_of(shuffled[fold == k], samples, groups)).astype(np.int32)
            for k in range(n_folds)]


def _units(samples, labels, groups):
    """Units that are divided, the samples or their groups, and the label of each.

    A group counts as one of the rarest of its classes: `StratifiedGroupKFold` of scikit-learn
    compares all folds for each group, which took ten seconds for 20 000 groups. Groups of one
    sample each are divided as the samples are.
    """
    if groups is None:
        return samples, labels
    units, of_sample = np.unique(groups[samples], return_inverse=True)
    if labels is None:
        return units, None
    by_size = np.argsort(np.bincount(labels[samples]), kind="stable")
    rarity = np.argsort(by_size)
    rarest = np.full(units[-1] + 1, len(rarity))
    np.minimum.at(rarest, units[of_sample], rarity[labels[samples]])
    labels = np.zeros(len(rarest), np.intp)
    labels[units] = by_size[rarest[units]]
    return units, labels


def _samples_of(units, samples, groups):
    """The samples of some units."""
    return units if groups is None else samples[np.isin(groups[samples], units)]


def _shuffled(units, labels, seed, size=None):
    """Units in random order, stratum by stratum, with their ranks in it and its size.

    With sizes, the largest units of each stratum come first.
    """
    shuffled = np.random.default_rng(seed).permutation(units)
    stratum = np.zeros(len(shuffled), np.intp) if labels is None else labels[shuffled]
    order = np.lexsort((stratum,) if size is None else (-size[shuffled], stratum))
    sizes = np.bincount(stratum)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return shuffled[order], rank, np.repeat(sizes, sizes)


class Score(NamedTuple):
    """Errors and losses of predictions, for each of some samples."""

    error: np.ndarray       # 0 or 1 for classification, the loss for regression
    square: np.ndarray      # squared error of the probabilities; the error for regression
    log_loss: np.ndarray    # of the probabilities, bounded; the error for regression

    @classmethod
    def of(cls, problem, predictions, samples, weight, row=None):
        """The weighted score of predictions; `row` has the row of each sample, if some share."""
        if row is None:
            row = np.arange(len(samples))
        error = weight * problem.prediction_errors(predictions[row], samples)
        if not problem.loss.is_classifier:
            return cls(error, error, error)
        used, row = np.unique(row, return_inverse=True)
        log_p = log_probabilities(predictions[used])
        p, at = np.exp(log_p), (row, problem.y[samples, 0].astype(np.intp))
        square = np.maximum((p**2).sum(axis=1)[row] - 2.0 * p[at] + 1.0, 0.0)
        return cls(error, weight * square, -weight * np.maximum(log_p[at], _MIN_LOG_PROBABILITY))

    @classmethod
    def of_tree(cls, problem, tree, samples, weight):
        """The weighted score of a tree."""
        leaf = problem.apply(tree, samples)
        if tree.slopes is None:
            return cls.of(problem, tree.values, samples, weight, leaf)
        return cls.of(problem, problem.predictions(tree, samples, leaf), samples, weight)


@dataclass(frozen=True, eq=False)
class Fold:
    """Samples to train on, and others to test on. All candidates share what is made of it."""

    problem: Problem                    # without the test samples
    samples: np.ndarray | None = None   # to test on, int32; None where all are trained on
    weight: np.ndarray | None = None    # of these samples
    trees: Callable | None = None       # makes the initial tree of a name
    made: dict = field(default_factory=dict)

    @classmethod
    def without(cls, problem, samples, trees=None):
        """The fold of these test samples: training samples, or validation samples given apart."""
        if problem.own_validation:
            return cls(problem, samples, problem.validation_weight[samples], trees)
        weight, left = problem.sample_weight[samples], problem.sample_weight.copy()
        left[samples] = 0.0
        return cls(problem.replace(sample_weight=left), samples, weight, trees)

    def initial(self, init):
        """The tree of an initializer, or of a name, which is made once."""
        if init not in self.made:
            is_name = isinstance(init, str)
            self.made[init] = self.trees(init) if is_name else init.initialize(self.problem)
        return self.made[init]

    def score(self, tree):
        """The `Score` of a tree on the test samples; its sums over several groups."""
        return Score(*map(self.sums, Score.of_tree(
            self.problem, tree, self.samples, self.weight)))

    def sums(self, values):
        """The values of the test samples, or their sums over each of several groups.

        Errors within a group are not independent of each other; the sums of groups are.
        """
        if self.problem.groups is None:
            return values
        group = numbered_groups(self.problem, self.samples)
        return np.bincount(group, values) if group.max() + 1 >= MIN_GROUPS else values
