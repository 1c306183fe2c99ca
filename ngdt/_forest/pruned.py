"""The trees of a forest for `ngdt.pruning.prune_forest`, and the smaller forest."""

from copy import copy

import numpy as np
from scipy.special import softmax
from sklearn.base import is_classifier

from ngdt._encoding.check_targets import check_targets
from ngdt._encoding.targets import RegressionTargets
from ngdt._estimators.description import describe_collapsed
from ngdt._estimators.edited import in_order
from ngdt._util.validation import check_weight
from ngdt.losses import SquaredLoss
from ngdt.pruning._member import HeldOut, Member


def held_out_samples(forest, X, y, sample_weight):
    """Samples and targets for a forest, checked and encoded.

    Parameters
    ----------
    forest : ObliqueForest
    X, y, sample_weight : array-like

    Returns
    -------
    HeldOut
    """
    data = forest._samples(X)
    y = check_targets(forest, y, **forest._check_y_params)
    if len(y) != data.n_samples:
        raise ValueError(f"y has {len(y)} samples, but X has {data.n_samples}")
    weight = check_weight(sample_weight, len(y))
    if np.count_nonzero(weight) < 2:
        raise ValueError(
            "y must have at least two samples of positive weight: each is predicted without it")
    encoder = forest._targets
    if is_classifier(forest):
        y = np.eye(encoder.n_outputs)[encoder.encode(y)]
        return HeldOut(data, y, weight, np.zeros(y.shape[1]), np.ones(y.shape[1]), True)
    y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    if y.shape[1] != encoder.n_outputs:
        raise ValueError(
            f"y has {y.shape[1]} targets, but the forest was trained on {encoder.n_outputs}")
    units = RegressionTargets.fit(y, weight, SquaredLoss())
    return HeldOut(data, y, weight, units.center, units.scale, False)


def members(forest, held_out):
    """The trees of a forest and their predictions.

    Parameters
    ----------
    forest : ObliqueForest
    held_out : HeldOut

    Returns
    -------
    list of Member
    """
    found = []
    forest._check_trees_are_trained("prune_forest")
    for place, estimator in enumerate(forest.estimators_):
        tree = estimator.tree_
        averages = estimator._sample_summary.leaf_averages()
        found.append(Member.of(
            place, tree, estimator._n_node_samples[tree.n_internal:],
            softmax(averages, axis=1) if held_out.is_classifier else averages, held_out))
    return found


def smaller_estimator(estimator, tree):
    """The estimator of a tree, some nodes of which were turned into leaves.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
    tree : Tree

    Returns
    -------
    ObliqueTreeClassifier or ObliqueTreeRegressor
        The estimator itself, if the tree is its own.
    """
    if tree is estimator.tree_:
        return estimator
    smaller, fitted = copy(estimator), describe_collapsed(estimator, tree)
    ordered = in_order(estimator, tree, fitted)
    vars(smaller).update(
        fitted if ordered is tree else describe_collapsed(estimator, ordered))
    return smaller
