"""Regrow: replace subtrees by greedy ones where validation samples favour these."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ngdt._core.greedy.builder import build
from ngdt._core.structure import grafted
from ngdt._core.tree import Tree
from ngdt._methods.optimizer import Optimizer
from ngdt._training.progress import OptimizerResult
from ngdt._training.samples_by_leaf import SamplesByLeaf
from ngdt._util.arrays import standard_errors_saved
from ngdt._util.stopped import Stopped
from ngdt._util.validation import COUNT

# Gain, in standard errors, from which a greedy subtree replaces another. With 1, chance replaced so
# many of hundreds of small subtrees that the validation accuracy of a noisy tree was six points too
# high.
_MIN_GAIN_SE = 2.0
# Training samples of the first comparison. It rejects clearly worse subtrees at a small part of the
# cost.
_N_PILOT_SAMPLES = 500


@dataclass(eq=False, repr=False, kw_only=True)
class Regrow(Optimizer):
    """Replace subtrees by greedy axis-aligned ones where validation samples favour these.

    Children first, each subtree is compared with a tree of the same remaining depth, grown by
    information gain on the training samples that reach it. The greedy tree is better where the
    target depends on single features, or where an oblique split is inaccurate because of few
    samples and many noise features. The result is a mixture of oblique and axis-aligned splits.

    Use it as the last optimizer of a list such as ``optimizer=[SSGD(), Regrow()]``. It needs
    validation samples, of a number as `validation_fraction` of the estimator or of `X_val`, and
    changes nothing without.

    Parameters
    ----------
    min_samples_leaf : int, default=1
        Least number of training samples in a leaf of a greedy subtree. Only a value above that
        of the estimator has an effect.

    Notes
    -----
    Deviation: not in the papers. A subtree is replaced if its errors on the validation samples
    exceed those of the greedy one by more than two standard errors of the paired difference. This
    needs at least five validation samples. At nodes with at least 1000 training samples, a greedy
    tree on about 500 of them is compared first. If it is worse by more than two standard errors,
    the subtree is kept.

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

    name = "regrow"
    winsorizes = False
    regularizes = True

    _parameter_constraints: ClassVar[dict] = {
        "min_samples_leaf": [COUNT],
    }

    min_samples_leaf: int = 1

    def _optimize(self, tree, problem):
        if problem.validation_weight is None or tree.n_internal == 0:
            return OptimizerResult(tree)
        return OptimizerResult(_Regrowth(self, tree, problem).run())


class _Regrowth:
    """Run of `Regrow`: samples by node, and validation errors of the tree so far."""

    def __init__(self, params, tree, problem):
        self.tree, self.problem = tree, problem
        self.grown = problem.replace(control=problem.control.silent()).limited(
            max_leaf_nodes=None,
            min_samples_leaf=max(problem.limits.min_samples_leaf, params.min_samples_leaf))
        self.training, self.validation = (
            SamplesByLeaf(tree, samples, problem.apply(tree, samples))
            for samples in (problem.training_samples, problem.validation_samples))
        self.errors = problem.errors(tree, self.validation.samples, self.validation.leaf)
        self.validation_weight = problem.validation_weight[self.validation.samples]

    def run(self):
        depth = self.tree.node_depths()
        limit = max(self.problem.limits.max_depth or 0, self.tree.max_depth)
        greedy = {}
        try:
            for node in reversed(range(self.tree.n_internal)):
                if not self.problem.control.step(
                        1.0 - (node + 1) / self.tree.n_internal, "regrowing subtrees"):
                    break
                candidate = self._candidate(node, limit - depth[node])
                if candidate is not None:
                    greedy[node] = candidate
        except KeyboardInterrupt as error:      # of the growth, with a tree that is a subtree here
            raise Stopped(self._with(greedy)) from error
        return self._with(greedy)

    def _with(self, greedy):
        """The tree with these subtrees at its nodes."""
        return Tree(*grafted(self.tree, greedy)) if greedy else self.tree

    def _candidate(self, node, max_depth):
        """Greedy subtree at a node if it is better, else None."""
        validation = self.validation.slice_of(node)
        errors_now = self.validation_weight[validation] * self.errors[validation]
        # A gain on n samples is at most sqrt(n) standard errors. This skips most of the nodes.
        if np.count_nonzero(errors_now) <= _MIN_GAIN_SE**2:
            return None
        samples = self.training.samples[self.training.slice_of(node)]
        if len(samples) == 0:
            return None
        if len(samples) >= 2 * _N_PILOT_SAMPLES:
            pilot = samples[:: len(samples) // _N_PILOT_SAMPLES]
            if self._gain(self._grow(pilot, max_depth), validation)[0] < -_MIN_GAIN_SE:
                return None
        candidate = self._grow(samples, max_depth)
        gain, errors = self._gain(candidate, validation)
        if gain <= _MIN_GAIN_SE:
            return None
        self.errors[validation] = errors
        return candidate

    def _grow(self, samples, max_depth):
        grown = self.grown.limited(max_depth=max_depth)
        return build(self.problem.splitter, samples.copy(), grown).to_tree(self.problem)

    def _gain(self, candidate, validation):
        """Gain of a subtree on the validation samples, in standard errors, and its errors there."""
        errors = self.problem.errors(candidate, self.validation.samples[validation])
        weight = self.validation_weight[validation]
        return standard_errors_saved(weight * self.errors[validation], weight * errors), errors
