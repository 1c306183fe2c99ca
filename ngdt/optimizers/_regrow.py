"""Regrow: give a subtree back to the greedy grower where held-out rows prefer it."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt._greedy.builder import build, splitter_for
from ngdt._tree import Tree
from ngdt.optimizers._base import Optimizer
from ngdt.optimizers._samples_by_leaf import SamplesByLeaf
from ngdt.problem import standard_errors_saved

# Standard errors by which a fresh subtree must win. With 1, hundreds of small subtrees offered
# enough lucky wins to make a noisy tree look six points better on the rows that chose them.
_MIN_GAIN_SE = 2.0
# Training rows that tell a hopeless comparison at a fraction of the cost of the whole one.
_PILOT = 500


class Regrow(Optimizer):
    """Replace subtrees by greedy axis-aligned ones where held-out rows prefer them.

    Children first, each subtree is compared with a tree of the same remaining depth, grown by
    information gain on the training rows that reach it. Where the truth is axis-aligned, or where
    few rows and many noise features make an oblique split a poor guess, the fresh tree wins; the
    result is a mixture of oblique and axis-aligned splits.

    A step like any optimizer: it ends a chain such as ``optimizer=[SSGD(), Regrow()]``. Without
    held-out rows it changes nothing.

    Parameters
    ----------
    min_samples_leaf : float, default=1
        Least weight of a fresh leaf. Up to 1, there is no limit.

    Notes
    -----
    Deviation: not in the papers. A subtree is replaced if the errors it makes on the held-out rows
    exceed those of the fresh one by more than two standard errors of the paired difference, so
    that it takes at least five rows. At nodes with many rows a fresh tree on 500 of them is tried
    first, and the comparison ends there if it is worse by more than two standard errors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.optimizers import SSGD, Regrow
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(
    ...     max_depth=2, optimizer=[SSGD(epochs=20), Regrow()], validation_fraction=0.2,
    ...     random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "min_samples_leaf": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, min_samples_leaf=1):
        self.min_samples_leaf = min_samples_leaf

    def optimize(self, tree, problem):
        if problem.validation_weight is None or tree.n_internal == 0:
            return tree, {}
        return _Regrowth(self, tree, problem).run(), {}


class _Regrowth:
    def __init__(self, params, tree, problem):
        self.tree, self.problem = tree, problem
        self.splitter = splitter_for(problem, params.min_samples_leaf)
        self.trained, self.held_out = (
            SamplesByLeaf(tree, rows, tree._apply_at(problem.data, rows))
            for rows in (problem.training_samples, problem.validation_samples))
        self.errors = problem.errors(
            tree.values[self.held_out.leaf], self.held_out.samples)
        self.weight = problem.validation_weight[self.held_out.samples]

    def run(self):
        depth = self.tree.node_depths()
        limit = max(self.problem.max_depth or 0, self.tree.max_depth)
        fresh = {}
        for node in range(self.tree.n_internal - 1, -1, -1):
            candidate = self._candidate(node, limit - depth[node])
            if candidate is not None:
                fresh[node] = candidate
        return _graft(self.tree, fresh) if fresh else self.tree

    def _candidate(self, node, max_depth):
        """The fresh subtree if it wins, else None."""
        held = self.held_out.slice_of(node)
        now = self.weight[held] * self.errors[held]
        # A gain on n rows is at most sqrt(n) standard errors: spares most of the nodes.
        if np.count_nonzero(now) <= _MIN_GAIN_SE**2:
            return None
        trained = self.trained.samples[self.trained.slice_of(node)]
        if len(trained) == 0:
            return None
        if len(trained) >= 2 * _PILOT:
            pilot = trained[:: len(trained) // _PILOT]
            if self._gain(self._grow(pilot, max_depth), held)[0] < -_MIN_GAIN_SE:
                return None
        candidate = self._grow(trained, max_depth)
        score, errors = self._gain(candidate, held)
        if score <= _MIN_GAIN_SE:
            return None
        self.errors[held] = errors
        return candidate

    def _grow(self, rows, max_depth):
        return build(self.splitter, rows.copy(), max_depth=max_depth).to_tree(self.problem)

    def _gain(self, candidate, held):
        """What a subtree would gain on held-out rows, in standard errors; and its errors there."""
        samples = self.held_out.samples[held]
        errors = self.problem.errors(
            candidate.values[candidate._apply_at(self.problem.data, samples)], samples)
        weight = self.weight[held]
        return standard_errors_saved(weight * self.errors[held], weight * errors), errors


def _graft(tree, fresh):
    """The tree with the subtrees at some nodes replaced; the highest replacement counts."""
    tree = tree.densify()       # rows of two trees come together
    weights, thresholds, left, right, values = [], [], [], [], []
    # Each entry: the tree a child belongs to, its id there, and where its new id goes.
    waiting = [(tree, 0, None, 0)]
    while waiting:
        source, child, children, parent = waiting.pop()
        if source is tree and child in fresh:
            source, child = fresh[child], 0 if fresh[child].n_internal else ~0
        if child < 0:
            new = ~len(values)
            values.append(source.values[~child])
        else:
            new = len(weights)
            weights.append(source.weights[child])
            thresholds.append(source.thresholds[child])
            left.append(0)
            right.append(0)
            waiting += [
                (source, source.children_right[child], right, new),
                (source, source.children_left[child], left, new),
            ]
        if children is not None:
            children[parent] = new
    return Tree(
        np.reshape(weights, (len(weights), tree.n_features)), thresholds,
        np.array(left, dtype=np.int32), np.array(right, dtype=np.int32), values)
