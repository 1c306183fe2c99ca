"""The state of a run of TAO between two passes, as a checkpoint keeps it."""

import numpy as np

from ngdt._methods.tao.weights import compact_weights
from ngdt._training.samples_by_leaf import SamplesByLeaf


def state_of(run):
    """The state of a run.

    Parameters
    ----------
    run : TAORun

    Returns
    -------
    dict
    """
    objective, tree, by_leaf = run.best
    return {
        "tree": run.tree, "leaf": _leaves(run.samples_by_leaf), "lowest": list(run.lowest),
        "best": [objective, tree, _leaves(by_leaf)], "converged": bool(run.converged)}


def restore(run, state):
    """Let a run go on from a state.

    Parameters
    ----------
    run : TAORun
    state : dict
        As `state_of` returns it.
    """
    def sorted_samples(tree, leaf):
        if (tree.n_internal, tree.n_features, len(leaf)) != (
                run.tree.n_internal, run.tree.n_features, len(run.training_samples)) or not (
                (leaf >= 0) & (leaf < tree.n_leaves)).all():
            raise ValueError("the tree or its leaves do not fit the training samples")
        return SamplesByLeaf(tree, run.training_samples, leaf)

    by_leaf = sorted_samples(state["tree"], state["leaf"])
    run.tree, run.weights = state["tree"], compact_weights(state["tree"].weights)
    run._sort(by_leaf)
    objective, tree, leaf = state["best"]
    run.best = objective, tree, sorted_samples(tree, leaf)
    run.lowest, run.converged = list(state["lowest"]), bool(state["converged"])


def _leaves(by_leaf):
    """Leaf of each training sample, in the order of the samples."""
    return by_leaf.leaf[np.argsort(by_leaf.samples)]
