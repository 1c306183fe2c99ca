"""Fitted attributes that describe the tree of an estimator."""

from dataclasses import replace

import numpy as np

from ngdt._core.quantiles import MAX_STORED, LeafQuantiles
from ngdt._core.structure import constant_predictions, sums_below
from ngdt._inspection.importances import feature_importances, node_gains
from ngdt._inspection.sample_summary import SampleSummary
from ngdt.pruning._impurity import LeafTargets
from ngdt.pruning._replace import places


def describe(problem, result, fitted):
    """Fitted attributes that depend on the tree.

    Parameters
    ----------
    problem : Problem
    result : TrainingResult
    fitted : dict
        Fitted attributes that depend on X and y only.

    Returns
    -------
    dict
    """
    tree, samples = result.tree, problem.training_samples
    leaf = problem.apply(tree, samples)
    count = np.bincount(leaf, minlength=tree.n_leaves)
    # A forest of constant leaves need not look up as many probabilities as it has samples.
    predictions = None if problem.loss.is_classifier and tree.slopes is None else (
        problem.predictions(tree, samples, leaf))
    weight, quantiles = problem.sample_weight[samples], None
    if not problem.loss.is_classifier:
        # The targets of each leaf, in the units of y, less what predictions in it differ by.
        y = problem.y[samples] - (predictions - tree.values[leaf])
        quantiles = LeafQuantiles.fit(
            leaf, fitted["_targets"].decode(y), weight, tree.n_leaves, max_stored=MAX_STORED)
    fitted_tree = fitted["_targets"].unscale_leaf_values(tree, problem.loss)
    summary = replace(
        SampleSummary.of(fitted_tree, problem.X, problem.data, samples, problem.moments,
                         problem.loss.is_classifier),
        gains=node_gains(tree, LeafTargets.of(problem, leaf, samples), predictions),
        leaf_weights=None if (weight == weight[0]).all() else (
            np.bincount(leaf, weight, tree.n_leaves)))
    return fitted_attributes(result, fitted["_table"], summary, count, quantiles)


def fitted_attributes(result, table, summary, count, quantiles):
    """Fitted attributes from what is known of the samples.

    Parameters
    ----------
    result : TrainingResult
    table : Table
    summary : SampleSummary
        Of the tree with leaf values in the units of y, with gains.
    count : ndarray of shape (n_leaves,)
        Number of samples of each leaf.
    quantiles : LeafQuantiles or None
        None for classification.

    Returns
    -------
    dict
    """
    n_node_samples = sums_below(result.tree, count).astype(np.intp)
    return _of_samples(result.tree, table, summary, n_node_samples, quantiles) | {
        "history_": result.history,
        "n_iter_": len(result.history["optimizer"]),
        "baseline_kept_": result.baseline_kept,
        "candidates_": result.candidates,
    }


def _of_samples(tree, table, summary, n_node_samples, quantiles):
    """Fitted attributes that depend on the samples at the nodes of a tree."""
    found = {
        "tree_": summary.tree, "_sample_summary": summary, "_n_node_samples": n_node_samples,
        "feature_importances_": feature_importances(
            tree, table, summary.mean, summary.std, summary.gains)}
    return found if quantiles is None else found | {"_leaf_quantiles": quantiles}


def describe_collapsed(estimator, tree):
    """Fitted attributes of an estimator for its tree with some nodes turned into leaves."""
    before, place = estimator._sample_summary, places(estimator.tree_, tree)
    n_node_samples = np.zeros(tree.n_internal + tree.n_leaves, dtype=np.intp)
    np.maximum.at(n_node_samples, place, estimator._n_node_samples)
    n_at_leaf = estimator._n_node_samples[before.tree.n_internal:]
    leaf = place[before.tree.n_internal:] - tree.n_internal
    quantiles = None
    if hasattr(estimator, "_leaf_quantiles"):
        # Of leaves that have become a constant one, the slopes are gone.
        is_gone = (np.bincount(leaf) > 1) & ~np.isnan(constant_predictions(tree)).any(axis=1)
        shift = np.where(is_gone[leaf, None], before.leaf_averages() - before.tree.values, 0.0)
        weight = n_at_leaf if before.leaf_weights is None else before.leaf_weights
        quantiles = estimator._leaf_quantiles.merge(leaf, weight, shift, max_stored=MAX_STORED)
    summary = before.collapse(tree, place, n_at_leaf)
    return _of_samples(tree, estimator._table, summary, n_node_samples, quantiles)
