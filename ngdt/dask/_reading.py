"""Reading of collections as blocks, for trees and forests on partitions."""

from dataclasses import replace

import dask
import numpy as np
from dask import delayed
from sklearn.base import is_classifier

from ngdt._core.scaling import Moments
from ngdt._core.structure import choose_leaves
from ngdt._core.tree import Tree
from ngdt._encoding.check_targets import check_names_of_targets
from ngdt._estimators.description import fitted_attributes
from ngdt._estimators.resolve import (
    is_auto,
    resolve_given_tree,
    resolve_init,
    resolve_loss,
    sample_count,
)
from ngdt._inspection.importances import node_gains
from ngdt._inspection.sample_summary import SampleSummary
from ngdt._methods.random.random_complete import default_depth
from ngdt._training.control import NO_CONTROL
from ngdt._training.far_targets import follows, warn_of_far_targets
from ngdt._training.folds import problem_of
from ngdt._util.validation import warn
from ngdt.dask._blocks import encode, glance, join, partitions_of, sent
from ngdt.dask._training import ROUNDS, Partitions
from ngdt.optimizers import Annealed

# Limits of the numbers of samples, and of values of X, from which the encoding, the initial tree
# and the greedy baseline are made.
MAX_SAMPLES, MIN_SAMPLES, MAX_VALUES = 100_000, 15_000, 12_000_000
# Partitions that are trained on at the same time by default.
N_AT_ONCE = 4
# Losses whose best leaf values and errors follow from sums over the samples of a leaf.
LOSSES = ("log_loss", "bounded", "squared_error")
# Share of the first readings in the progress that is shown.
READING_WORK = 0.05


def resolve_optimizer(estimator):
    """Optimizer by the parameters of an estimator; None keeps the initial tree.

    Raises
    ------
    ValueError
        If a parameter is not supported; the message names it.
    """
    for what, is_given in {
            "max_time": estimator.max_time is not None,
            "warm_start": estimator.warm_start,
            "checkpoint": estimator.checkpoint is not None,
            "oob_score": getattr(estimator, "oob_score", False),
            "monotonic_cst": estimator.monotonic_cst is not None,
            f"loss={estimator.loss!r}": resolve_loss(estimator).name not in LOSSES,
            f"leaf={estimator.leaf!r}": estimator.leaf not in ("auto", "constant"),
            "class_weight='balanced_subsample'":
                getattr(estimator, "class_weight", None) == "balanced_subsample"}.items():
        if is_given:
            raise ValueError(
                f"{what} is not available in ngdt.dask.{type(estimator).__name__}: leave it out, "
                "or use the estimators of ngdt on data in memory")
    given = estimator.optimizer
    named = {"auto": Annealed} | {each.name: each for each in ROUNDS}
    if isinstance(given, str) and given in named:
        given = named[given]()
    if given is None:
        return None
    if type(given) not in ROUNDS:
        raise ValueError(
            f"optimizer={estimator.optimizer!r} cannot train on the partitions of a dask "
            f"collection: use one of {', '.join(named)} or an object of their classes, or the "
            "estimators of ngdt on data in memory")
    ROUNDS[type(given)].check(given)
    return given


class Reading:
    """Collections of a fit, read as blocks.

    Parameters
    ----------
    estimator : estimator of ngdt
        Has the parameters; not fitted. It gets the number and the names of the columns.
    X, y, sample_weight : dask collections, or None
    division : Division
    n_at_once : int or None
        Number of partitions that are trained on at the same time; -1 stands for all.
    control : Control

    Attributes
    ----------
    problem : Problem
        Problem of some of the samples, with the moments of all.
    limits : Limits
        For all samples.
    fitted : dict
        The fitted attributes that depend on X and y only.
    totals : ndarray or None
        Weight of each class.
    partitions : Partitions
    moments : Moments
        Moments of all samples.
    """

    def __init__(self, estimator, X, y, sample_weight, division, n_at_once, control):
        self.estimator, self.division = estimator, division
        found = partitions_of(X, y, sample_weight)
        reading = control.activity.part(READING_WORK, "reading partitions")
        glances = self._look_at(found, X.shape[1])
        self._learn(glances.values(), control)
        self.fitted["_targets"] = check_names_of_targets(       # of a data frame without rows
            self.fitted["_targets"], getattr(y, "_meta", None))
        self._make_blocks(found, glances, n_at_once or N_AT_ONCE)
        reading.finish()

    @property
    def prior(self):
        """Share of each class, or None."""
        return None if self.totals is None else self.totals / self.totals.sum()

    def initial(self, optimizer):
        """The initializer, or the initial tree, for an optimizer or None."""
        init = resolve_init(
            self.estimator, [] if optimizer is None else [optimizer], self.fitted)
        if isinstance(init, Tree):
            return resolve_given_tree(init, self.problem, self.fitted["_targets"])
        init.check(self.problem)
        return init

    @property
    def units(self):
        """Encoding of the targets, and moments of the features, for a `Description`."""
        return self.fitted["_targets"], self.moments

    def described(self, result, found):
        """Fitted attributes that depend on the tree; leaves follow far targets where most are far.

        Parameters
        ----------
        result : TrainingResult
        found : Description

        Returns
        -------
        dict
        """
        (targets, moments), sums = self.units, found.sums
        result = replace(result, tree=choose_leaves(
            follows(*found.far, sums.weight), sums.fit_leaves(result.tree), result.tree))
        count = sums.count.sum(axis=0)
        summary = SampleSummary(
            targets.unscale_leaf_values(result.tree, self.problem.loss), moments.mean, moments.std,
            moments.low, moments.high, found.left, found.right,
            gains=node_gains(result.tree, sums.targets()),
            leaf_weights=None if np.array_equal(sums.weight, count) else sums.weight)
        return fitted_attributes(result, self.fitted["_table"], summary, count, found.quantiles)

    def _look_at(self, partitions, n_columns):
        """Read all partitions once: the `Glance` of each that has samples, by its number."""
        n_drawn = int(np.clip(MAX_VALUES // max(1, n_columns), MIN_SAMPLES, MAX_SAMPLES))
        reader = sent(_reader(self.estimator))
        look = delayed(glance, pure=False)
        # Up to twice the mean, so that a larger partition can give its share.
        found = dask.compute(*(
            look(reader, self.division, -(-2 * n_drawn // len(partitions)), *each, number)
            for number, each in enumerate(partitions)))
        found = {number: each for number, each in enumerate(found) if each is not None}
        n_training = sum(each.n_training for each in found.values())
        if n_training == 0:
            raise ValueError("X has no samples of positive weight to train on")
        share = min(1.0, n_drawn / n_training)
        return {number: each.first(round(share * each.n_training))
                for number, each in found.items()}

    def _learn(self, glances, control):
        """Set the encoding and the problem of the sample, and the limits for all samples."""
        estimator, drawn = self.estimator, [each for each in glances if len(each.y)]
        known = self._known_targets(glances)
        self.problem, self.fitted = estimator._checked_problem(
            join([each.X for each in drawn]), np.concatenate([each.y for each in drawn]),
            np.concatenate([each.sample_weight for each in drawn]), False, known)
        if is_auto(estimator.max_depth):    # as in memory without competing trees
            self.problem = self.problem.limited(max_depth=default_depth(self.problem))
        # Blocks do not know how many there are in all.
        warn_of_far_targets(self.problem, self.fitted["_targets"], leaves_out=False)
        self.fences, self.problem = self.problem._target_fences, self.problem.near
        # A number that is missing only outside of the sample becomes the mean of the sample, too.
        self.fitted["_table"] = self.fitted["_table"].with_means(self.problem.moments.mean)
        n_samples = sum(each.n_present for each in glances)
        least = {"min_samples_split": 2, "min_samples_leaf": 1}
        limits = {name: sample_count(getattr(estimator, name), n_samples, low)
                  for name, low in least.items()}
        share = self.problem.X.shape[0] / n_samples
        self.limits = self.problem.limits._replace(**limits)
        self.problem = self.problem.replace(control=control).limited(**{
            name: max(low, round(share * limits[name])) for name, low in least.items()})

    def _known_targets(self, glances):
        """All labels; None for regression, whose targets are standardised by the sample."""
        self.totals = None
        if not is_classifier(self.estimator):
            return None
        labels = np.concatenate([each.y_values for each in glances])
        classes, label = np.unique(labels, return_inverse=True)
        self.totals = np.bincount(label, np.concatenate([each.y_weights for each in glances]))
        return classes

    def _make_blocks(self, partitions, glances, n_at_once):
        """Make the blocks of the partitions, and the scaling of all samples."""
        factor = self._class_weight()
        template = problem_of(self.problem, np.empty(0, dtype=np.intp)).replace(
            control=NO_CONTROL)
        reader, template, division = map(
            sent, (_reader(self.estimator, **self.fitted), template, self.division))
        make = delayed(encode, pure=False)
        self.partitions = Partitions(
            [make(reader, template, division, factor, self.fences, *partitions[number], number)
             for number in glances],
            np.array([each.n_training for each in glances.values()]),
            n_at_once if n_at_once > 0 else len(glances))
        found = dask.compute(*(delayed(_moments, pure=False)(block)
                               for block in self.partitions.blocks))
        self.moments = Moments.merge(*zip(*filter(None, found), strict=True))
        # What has been computed of other samples is forgotten; the scaling follows from moments.
        self.problem = self.problem.replace(
            sample_weight=self.problem.sample_weight).knowing(moments=self.moments)

    def _class_weight(self):
        """Factor of the weights of each class, from its weight in all partitions; or None."""
        if self.totals is None:
            return None
        weighted = self.fitted["_targets"].apply_class_weight(
            self.estimator.class_weight, np.arange(len(self.totals)), self.totals)
        factor = weighted / np.where(self.totals > 0, self.totals, 1.0)
        self.totals = weighted
        return factor


def warn_of_linear_leaves(trees, estimator):
    """Warn that linear leaves of initial trees become constant, unless `leaf` says so."""
    if any(tree.slopes is not None for tree in trees) and estimator.leaf != "constant":
        warn(
            "ngdt.dask replaced the linear leaves of the initial tree by constant ones. Use "
            "leaf='constant', or the estimators of ngdt on data in memory")


def _reader(estimator, **attributes):
    """Estimator for the workers, which reads tables as a given one does."""
    reader = type(estimator)(categorical_features=estimator.categorical_features)
    vars(reader).update(estimator._columns() | attributes)
    return reader


def _moments(block):
    """The moments of a block and its weight, or None without weight."""
    weight = block.weights.sum(axis=0)
    return (Moments.of(block.problem.X, weight), weight.sum()) if weight.any() else None
