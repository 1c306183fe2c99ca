"""One fit: a tree to start from, soft training of the whole tree, and the tree that routes hard."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch

from ngdt._core.structure import balanced_children
from ngdt._core.tree import Tree
from ngdt._methods.soft.run import unit_weight
from ngdt._training.far_targets import FarTargets
from ngdt.deep._base import score_tree
from ngdt.deep._torch.functions import (
    NodeFunctions,
    SharedFunctions,
    evaluate,
    made,
    route,
    weights_of,
)
from ngdt.deep._torch.growth import grow
from ngdt.deep._torch.training import SoftTraining
from ngdt.pruning._unused import keep_reached

# Share of greedy growth in the progress that is shown.
_GROWTH_WORK = 0.5


class Fitted(NamedTuple):
    """Result of `fit_tree`.

    Attributes
    ----------
    tree : Tree
        Splits the features of the trunk or, without one, the scores of the nodes.
    weights : list of dict, or dict
        Parameters of the modules of the nodes, or of the trunk.
    history : dict of str to list
    interrupted : bool
    """

    tree: Tree
    weights: "list | dict"
    history: dict
    interrupted: bool


@contextmanager
def torch_settings(problem):
    """Set threads, seed and default type of PyTorch, inside of a block (context manager)."""
    n_threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(problem.n_jobs)
    torch.set_default_dtype(torch.float32)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(problem.random_state)
            yield
    finally:
        torch.set_num_threads(n_threads)
        torch.set_default_dtype(dtype)


def fit_tree(problem, inputs, split, trunk, optimizer, stump):
    """Train a tree.

    Parameters
    ----------
    problem : Problem
    inputs : ndarray of float32, shape (n_samples, ...)
        The samples as networks take them.
    split : callable
        Makes the module of a node for the shape of a sample.
    trunk : callable or None
        Makes the module of features that all nodes share, instead.
    optimizer : Annealed, EndToEnd or None
        Trains the whole tree.
    stump : Annealed, EndToEnd or None
        Trains the stumps of a greedy tree. None starts from a balanced tree with untrained splits.

    Returns
    -------
    Fitted
    """
    near = problem.near     # far targets turn no splits
    with torch_settings(problem):
        shape, sample_weight = inputs.shape[1:], unit_weight(near)
        made(trunk or split, shape, "trunk" if trunk else "split")      # or an early error
        interrupted, whole = False, near
        if stump is None:
            children = balanced_children(_n_leaves(problem))
            functions = _untrained(split, trunk, shape, children)
        else:
            modules, children, interrupted = grow(
                lambda: split(shape), stump, near.doing(_GROWTH_WORK, "growth"), inputs,
                sample_weight)
            functions = NodeFunctions(modules, *children)
            whole = near.doing(1.0 - _GROWTH_WORK)
        history = {}
        if optimizer is not None and len(children[0]) and not interrupted:
            training = SoftTraining(
                functions, children, optimizer, whole, near.training_samples,
                torch.from_numpy(inputs), sample_weight)
            if stump is None:
                training.spread_leaves()
            progress = training.run()
            history, interrupted = progress.history, progress.interrupted
        try:
            hardened = _hardened(functions, children, problem, inputs)
        except KeyboardInterrupt:   # the networks are trained, and the rest takes little time
            interrupted, hardened = True, _hardened(functions, children, problem, inputs)
        return Fitted(*hardened, history, interrupted)


def _n_leaves(problem):
    """Number of leaves of a balanced tree within the limits."""
    limits = problem.limits
    if limits.max_depth is None:
        return limits.max_leaf_nodes
    return min(limits.max_leaf_nodes, 2**limits.max_depth)


def _untrained(split, trunk, shape, children):
    n_nodes = len(children[0])
    if trunk is None:
        return NodeFunctions([split(shape) for _ in range(n_nodes)], *children)
    module, n_features = made(trunk, shape, "trunk")
    return SharedFunctions(module, n_features, n_nodes)


def _hardened(functions, children, problem, inputs):
    """Tree with hard routing and refitted leaves, and the weights of its networks."""
    samples, m = problem.training_samples, len(children[0])
    values = np.zeros((m + 1, problem.n_outputs))
    if isinstance(functions, SharedFunctions):
        weights, bias = (each.detach().numpy().astype(np.float64)
                         for each in functions.splits.parameters())
        tree = Tree(weights, -bias, *children, values)
        leaf = tree.apply(evaluate(functions.trunk, inputs[samples]))
        return _with_leaves(tree, leaf, problem), weights_of(functions.trunk)
    leaf = route(functions.nodes, *children, inputs[samples])
    tree = _with_leaves(score_tree(*children, values), leaf, problem)
    kept = tree.weights[:, :m].argmax(axis=1) if m else []
    return (score_tree(tree.children_left, tree.children_right, tree.values),
            [weights_of(functions.nodes[node]) for node in kept])


def _with_leaves(tree, leaf, problem):
    """Fit the leaf values of a tree, and remove leaves that no near training sample reaches."""
    near = problem.near
    near_leaf = leaf[near.sample_weight[problem.training_samples] > 0]
    reached = np.bincount(near_leaf, minlength=tree.n_leaves) > 0
    tree = near.refit_leaves(tree, near_leaf)
    return keep_reached(FarTargets(problem, near).restore(tree, leaf), reached)
