"""Fitted attributes that describe the tree of an estimator."""

import numpy as np

from ngdt._importances import feature_importances
from ngdt._quantiles import MAX_STORED, LeafQuantiles
from ngdt._sample_summary import SampleSummary
from ngdt._structure import sums_below


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
        "encoded_feature_names_": table.feature_names,
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
