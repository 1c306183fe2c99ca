"""Fitted attributes that describe the tree of an estimator."""

import numpy as np

from ngdt._importances import feature_importances
from ngdt._quantiles import MAX_STORED, LeafQuantiles
from ngdt._sample_summary import SampleSummary
from ngdt._structure import sums_below
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
    tree, table, samples = result.tree, fitted["_table"], problem.training_samples
    leaf = problem.apply(tree, samples)
    n_samples_at_leaf = np.bincount(leaf, minlength=tree.n_leaves)
    sample_weight_at_leaf = np.bincount(
        leaf, weights=problem.sample_weight[samples], minlength=tree.n_leaves)
    quantiles = {} if problem.loss.is_classifier else {
        "_leaf_quantiles": _leaf_quantiles(tree, leaf, problem, fitted["_targets"])}
    fitted_tree = fitted["_targets"].unscale_leaf_values(tree, problem.loss)
    return quantiles | {
        "tree_": fitted_tree,
        "history_": result.history,
        "n_iter_": len(result.history["optimizer"]),
        "baseline_kept_": result.baseline_kept,
        "candidates_": result.candidates,
        "feature_importances_": table.sum_by_column(feature_importances(
            tree, problem.moments.std, sample_weight_at_leaf)),
        "_n_node_samples": sums_below(tree, n_samples_at_leaf).astype(np.intp),
        "_sample_summary": SampleSummary.of(
            fitted_tree, problem.X, problem.data, samples, problem.moments),
    }


def _leaf_quantiles(tree, leaf, problem, targets):
    """The targets of each leaf, in the units of y, less what predictions in it differ by."""
    samples = problem.training_samples
    difference = problem.predictions(tree, samples, leaf) - tree.values[leaf]
    return LeafQuantiles.fit(
        leaf, targets.decode(problem.y[samples] - difference), problem.sample_weight[samples],
        tree.n_leaves, max_stored=MAX_STORED)


def describe_collapsed(estimator, tree):
    """Fitted attributes of an estimator for its tree with some nodes turned into leaves.

    Without the training samples, each sample counts once.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
    tree : Tree

    Returns
    -------
    dict
    """
    before, place = estimator._sample_summary, places(estimator.tree_, tree)
    n_node_samples = np.zeros(tree.n_internal + tree.n_leaves, dtype=np.intp)
    np.maximum.at(n_node_samples, place, estimator._n_node_samples)
    n_at_leaf = estimator._n_node_samples[before.tree.n_internal:]
    leaf = place[before.tree.n_internal:] - tree.n_internal
    quantiles = {}
    if hasattr(estimator, "_leaf_quantiles"):
        is_gone = np.bincount(leaf)[leaf] > 1
        shift = np.where(is_gone[:, None], before.leaf_averages() - before.tree.values, 0.0)
        quantiles["_leaf_quantiles"] = estimator._leaf_quantiles.merge(
            leaf, n_at_leaf, shift, max_stored=MAX_STORED)
    return quantiles | {
        "tree_": tree,
        "feature_importances_": estimator._table.sum_by_column(feature_importances(
            tree, before.std, n_node_samples[tree.n_internal:])),
        "_n_node_samples": n_node_samples,
        "_sample_summary": before.collapse(tree, place, n_at_leaf),
    }
