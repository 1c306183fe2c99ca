"""Choice of ccp_alpha by cross-validation, as in CART (Breiman et al., 1984, section 3.4)."""

import numpy as np

from ngdt._limits import enforce_limits
from ngdt.pruning._sequence import pruning_sequence

# Difference of sums of errors that rounding can explain, relative to the largest of them.
ROUNDING = 1e-12


def choose_ccp_alpha(problem, init, fold, *, rule="best"):
    """Choose `ccp_alpha` for the tree of an initializer by cross-validation.

    The candidates are the subtrees of the tree for all training samples. Between the alphas at
    which two of them begin, each is stood for by the geometric mean. At these alphas the trees that
    are grown without each fold are pruned, and their errors on the folds are summed.

    Parameters
    ----------
    problem : Problem
        Its limits hold for all trees, except `ccp_alpha`. Validation samples are not used.
    init : Initializer
    fold : ndarray of int, shape (n_training_samples,)
        Fold of each of ``problem.training_samples``; at least two different ones.
    rule : {"best", "one_standard_error"}, default="best"
        Which alpha is chosen: the one with the least error or, for a smaller tree, the largest one
        whose error is within one standard error of the least. Of equal ones, the largest.

    Returns
    -------
    ccp_alpha : float
        0 stands for the whole tree, infinity for a single leaf.
    errors : ndarray of shape (n_training_samples,)
        Error of each sample, by the tree that was grown without its fold and pruned with
        `ccp_alpha`, times its weight.

    Raises
    ------
    ValueError
        If there are fewer than two folds.
    """
    folds = np.unique(fold)
    if len(folds) < 2:
        raise ValueError(f"fold must hold at least two different numbers, got {folds}")
    problem = problem.replace(
        validation_weight=None, ccp_alpha=0.0, verbose=0, callback=None)
    alphas = np.unique(_Subtrees(problem, init).sequence.alphas)
    candidates = np.append(np.sqrt(alphas[:-1] * alphas[1:]), np.inf)
    samples = problem.training_samples
    parts = [(fold == i, _Subtrees(_without(problem, samples[fold == i]), init)) for i in folds]
    total = sum(
        subtrees.total_errors(samples[test], problem.sample_weight, candidates)
        for test, subtrees in parts)

    def errors_at(ccp_alpha):
        errors = np.empty(len(samples))
        for test, subtrees in parts:
            errors[test] = subtrees.errors(samples[test], problem.sample_weight, ccp_alpha)
        return errors

    def largest(allowed):
        return candidates[np.flatnonzero(total <= allowed + ROUNDING * total.max())[-1]]

    ccp_alpha = largest(total.min())
    errors = errors_at(ccp_alpha)
    if rule == "one_standard_error":
        ccp_alpha = largest(total.min() + np.sqrt(((errors - errors.mean()) ** 2).sum()))
        errors = errors_at(ccp_alpha)
    return float(ccp_alpha), errors


class _Subtrees:
    """The tree of an initializer within the limits of a problem, and all its subtrees.

    Parameters
    ----------
    problem : Problem
    init : Initializer
    """

    def __init__(self, problem, init):
        self.problem, self.tree = problem, enforce_limits(init.initialize(problem), problem)
        samples = problem.training_samples
        self.reached = (problem.apply(self.tree, samples), problem.y[samples],
                        problem.sample_weight[samples], problem.loss)
        self.sequence = pruning_sequence(self.tree, *self.reached)

    def total_errors(self, samples, sample_weight, ccp_alphas):
        """Sum of the weighted errors on some samples for each of some alphas."""
        problem, sequence = self.problem, self.sequence
        values, next_step = sequence.fit_values(*self.reached), sequence.next_step()
        weight, leaf = sample_weight[samples], problem.apply(self.tree, samples)
        error = weight * problem.errors(self.tree, samples, leaf)
        change = np.zeros(len(sequence.nodes) + 1)      # before the first step, then by each step
        change[0] = error.sum()
        # All samples go up the tree together; those whose predictions do not change drop out.
        step = next_step[self.tree.n_internal + leaf]
        while (going := step >= 0).any():
            step, samples, weight, before = (
                array[going] for array in (step, samples, weight, error))
            error = weight * problem.prediction_errors(values[step], samples)
            np.add.at(change, step + 1, error - before)
            step = next_step[sequence.nodes[step]]
        return np.cumsum(change)[sequence.n_steps(ccp_alphas)]

    def errors(self, samples, sample_weight, ccp_alpha):
        """Weighted error of each of some samples, by the tree pruned with one alpha."""
        pruned = enforce_limits(self.tree, self.problem.replace(ccp_alpha=ccp_alpha))
        return sample_weight[samples] * self.problem.errors(pruned, samples)


def _without(problem, samples):
    """The problem without some of its samples."""
    weight = problem.sample_weight.copy()
    weight[samples] = 0.0
    return problem.replace(sample_weight=weight)
