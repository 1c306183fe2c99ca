"""Greedy trees whose size is chosen by cross-validated cost-complexity pruning, as in CART."""

from copy import copy
from functools import cache
from time import monotonic

import numpy as np

from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._methods.initializer import Initializer
from ngdt._training.folds import Fold, Score, pruning_folds
from ngdt._training.size_limits import collapsed, enforce_limits, targets_at_leaves
from ngdt._util.arrays import least
from ngdt._util.stopped import Stopped
from ngdt.pruning._sequence import pruning_sequence


class Pruned(Initializer):
    """Greedy axis-aligned tree, pruned to the size with the least cross-validated error.

    The tree of `InfoGain` is pruned by minimal cost-complexity pruning. The parameter
    `ccp_alpha` is chosen by three folds, from 1000 samples on by ten and, from 20 000 on, by a
    third of the samples that is held out. This is the tree that a trained tree has to beat.

    See Also
    --------
    InfoGain : The tree before it is pruned.

    Notes
    -----
    Of alphas with the same error, the largest is chosen. Candidates are the geometric means of the
    alphas at which two subtrees of the tree for all samples begin, or of the tree without the
    samples that are held out.

    References
    ----------
    Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees, sections 3.3
    and 3.4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> greedy, pruned = (
    ...     ObliqueTreeClassifier(init=init, optimizer=None, random_state=0).fit(X, y)
    ...     for init in ("info_gain", "pruned"))
    >>> pruned.get_n_leaves() < greedy.get_n_leaves()
    True
    """

    name = "pruned"
    noun = "pruned greedy tree"
    chooses_size = True
    is_stochastic = True

    def _initialize(self, problem):
        folds = [Fold.without(problem, samples) for samples in pruning_folds(problem)]
        return CrossValidatedPruning(problem, folds).tree


class CrossValidatedPruning:
    """The tree of `InfoGain`, and its trees without each fold, pruned with the same alpha.

    The candidates for alpha are the subtrees of the tree for all training samples or, if there is
    one fold only, of the tree without that fold: the other one may not be needed then. Between the
    alphas at which two of them begin, each is represented by the geometric mean. At these alphas
    the trees that are grown without each fold are pruned, and their errors on the folds are added.

    Parameters
    ----------
    problem : Problem
        Its limits hold for all trees, except `ccp_alpha`. Validation samples are not used.
    folds : list of Fold
        Of the same samples. Without folds, nothing is pruned.
    share : float or None
        Share of the time until the deadline for the trees without each fold. None gives all trees
        the same time.
    may_skip : bool, default=False
        Whether folds but the first are left out where there is no time for them.

    Attributes
    ----------
    ccp_alpha : float
        The alpha with the least error; of equal ones, the largest. For classes, a smaller one, if
        the errors are about the same and the probabilities of the larger trees are better. 0 stands
        for the whole tree, infinity for a single leaf.
    initial_alpha : float
        The same among the alphas that leave each tree a split, for initial trees: optimizers cannot
        do anything with a single leaf.
    """

    def __init__(self, problem, folds, share=None, may_skip=False):
        # Only the pruned tree is to be monotone: the whole one has too many leaves for that.
        self.problem = problem.replace(
            validation_weight=None, directions=None, control=problem.control.quiet(),
            limits=problem.limits._replace(ccp_alpha=0.0))
        self._parts = []
        # One tree for `initial` too, grown only if it is needed.
        self._whole = cache(lambda: _Subtrees(self.problem))
        try:
            self._grow(folds, share, may_skip)
            self.ccp_alpha, self.initial_alpha = (
                self._choose(folds[:self.n_folds]) if folds else (0.0, 0.0))
        except KeyboardInterrupt as error:
            if not self._parts:
                raise
            raise Stopped(self._parts[0].tree) from error

    def _grow(self, folds, share, may_skip):
        """Grow the trees without each fold, one after another."""
        n = len(folds)
        timed = self.problem.with_time(n / (n + 1) if share is None else share)
        for k, fold in enumerate(folds):
            begin = monotonic()
            phase = f"greedy tree without fold {k + 1} of {n}" if n > 1 else (
                "greedy tree without held-out samples")
            self._parts.append(_Subtrees(fold.problem.replace(
                limits=timed.limits, validation_weight=None, directions=None,
                control=timed.control.with_time(1 / (n - k)).part(1 / (n + 1), phase))))
            # Another tree, and the tree of all samples, take as long.
            if may_skip and k + 1 < n and not self.problem.control.deadline.fits(
                    2.0 * (monotonic() - begin)):
                break

    def _choose(self, folds):
        """Choose `ccp_alpha` and `initial_alpha`."""
        parts = self._parts
        subtrees = parts[0] if len(folds) == 1 else self._whole()
        alphas = np.unique(subtrees.sequence.alphas)
        candidates = np.append(np.sqrt(alphas[:-1] * alphas[1:]), np.inf)
        error, square = sum(part.totals(fold.samples, fold.weight, candidates)
                            for part, fold in zip(parts, folds, strict=True))
        # Errors of targets and weights of very different size may overflow.
        error = np.where(np.isnan(error), np.inf, error)
        trees = parts if len(folds) == 1 else [*parts, self._whole()]
        leaves_a_split = candidates < min(each.sequence.alphas[-1] for each in trees)
        weight = np.concatenate([fold.weight for fold in folds])

        def best(allowed):
            found = least(np.where(allowed, error, np.inf))
            if self.problem.loss.is_classifier:
                found = _larger(found, error, square, weight)
            return float(candidates[found])

        return best(True), best(leaves_a_split) if leaves_a_split.any() else 0.0

    @property
    def n_folds(self):
        """Number of the folds without which a tree was grown."""
        return len(self._parts)

    @property
    def tree(self):
        """The pruned tree for all training samples."""
        return self._whole().pruned(self.ccp_alpha)

    @property
    def depth(self):
        """Depth before pruning: of the trees without each fold, or of the whole tree."""
        return max(part.tree.max_depth for part in self._parts or [self._whole()])

    @property
    def initial(self):
        """The same trees, pruned to initial trees."""
        initial = copy(self)
        initial.ccp_alpha = self.initial_alpha
        return initial

    def fold_tree(self, k):
        """The pruned tree without the samples of a fold."""
        return self._parts[k].pruned(self.ccp_alpha)


def _larger(best, error, square, weight):
    """Index of a larger subtree than the best one, if its probabilities are better.

    Its errors are the least but for a standard error. The least error may be that of two leaves,
    where a class is nowhere certain, and says nothing then of how likely it is.
    """
    share = min(1.0, error[best] / weight.sum())    # sums of equal weights may differ by rounding
    deviation = weight.sum() * np.sqrt(share * (1.0 - share) / len(weight))
    is_close = error[:best + 1] <= error[best] + deviation
    return least(np.where(is_close, square[:best + 1], np.inf))


class _Subtrees:
    """The greedy tree within the limits of a problem, and all its subtrees."""

    def __init__(self, problem):
        self.problem, self.tree = problem, enforce_limits(InfoGain().initialize(problem), problem)
        self.targets = targets_at_leaves(self.tree, problem)
        self.sequence = pruning_sequence(self.tree, self.targets)

    def totals(self, samples, weight, ccp_alphas):
        """Sums of the errors, and squared errors, on some samples for each of some alphas."""
        problem, sequence = self.problem, self.sequence
        values, next_step = sequence.fit_values(self.targets), sequence.next_step()
        leaf = problem.apply(self.tree, samples)
        score = np.array(Score.of_tree(problem, self.tree, samples, weight)[:2])
        change = np.zeros((2, len(sequence.nodes) + 1))     # before the first step, then by each
        change[:, 0] = score.sum(axis=1)
        # All samples go up the tree together; those whose predictions do not change drop out.
        step = next_step[self.tree.n_internal + leaf]
        while (going := step >= 0).any():
            step, samples, weight, before = (
                array[..., going] for array in (step, samples, weight, score))
            score = np.array(Score.of(problem, values, samples, weight, step)[:2])
            for sums, more in zip(change, score - before, strict=True):
                np.add.at(sums, step + 1, more)
            step = next_step[sequence.nodes[step]]
        return np.cumsum(change, axis=1)[:, sequence.n_steps(ccp_alphas)]

    def pruned(self, ccp_alpha):
        """The tree pruned with one alpha."""
        return collapsed(self.tree, self.problem, self.sequence.is_leaf(ccp_alpha))
