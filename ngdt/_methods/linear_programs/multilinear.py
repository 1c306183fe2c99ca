"""Multilinear program of global tree optimization: objective, gradient, segments.

Everything is a function of the *hinge errors* of all samples at all nodes, an array of shape
(2, n_samples, n_internal): ``max(0, 1 + score)`` where a sample should be on the left, and
``max(0, 1 - score)`` where it should be on the right.
"""

import numpy as np
from numpy.polynomial import Chebyshev


class Multilinear:
    """Errors of samples in a tree whose structure and leaf classes are fixed.

    Parameters
    ----------
    tree : Tree
        Each leaf belongs to the class with the largest value.
    label : ndarray of int, shape (n_samples,)
        Class of each sample.
    sample_weight : ndarray of float64, shape (n_samples,)
        Positive; scaled to sum 1 within each class.
    """

    def __init__(self, tree, label, sample_weight):
        directions = tree.ancestors().toarray()
        # For left and right: the nodes whose hinge errors add up to the error of each leaf.
        self._path = np.stack([directions < 0, directions > 0]).astype(np.float64)
        leaf_class = tree.values.argmax(axis=1)
        self._weight = sample_weight / np.bincount(label, weights=sample_weight)[label]
        # For each class: its samples, and its leaves.
        self._classes = [
            (np.flatnonzero(label == c), np.flatnonzero(leaf_class == c))
            for c in np.unique(label)]

    @staticmethod
    def hinges(scores):
        """Hinge errors, shape (2, n_samples, n_internal), of scores (n_samples, n_internal)."""
        return np.maximum(0.0, np.stack([1.0 + scores, 1.0 - scores]))

    def objective(self, hinges):
        """Mean error of each class, summed over classes.

        The error of a sample is the product of the errors of the leaves of its class. The error of
        a leaf is the sum of the hinge errors on the path to it. A class without a leaf adds 1.
        """
        return sum(
            self._weight[samples] @ self._leaf_errors(hinges, samples, leaves).prod(axis=1)
            for samples, leaves in self._classes)

    def gradient(self, hinges):
        """Derivatives of the objective with respect to the hinge errors; none is negative."""
        gradient = np.zeros_like(hinges)
        for samples, leaves in self._classes:
            by_leaf = self._weight[samples, None] * _products_of_others(
                self._leaf_errors(hinges, samples, leaves))
            gradient[:, samples] = by_leaf @ self._path[:, leaves]
        return gradient

    def best_step(self, start, end):
        """Position of the smallest objective on the segment between two arrays of hinge errors.

        On the segment, the objective is a polynomial. Its degree is the largest number of leaves of
        a class. It is evaluated at the ends and at the zeros of its derivative. The result is exact
        up to rounding.

        Returns
        -------
        float
            Share of the segment, in [0, 1]. It is 0 only if no other step is better.
        """
        errors = [
            (self._weight[samples], self._leaf_errors(start, samples, leaves),
             self._leaf_errors(end - start, samples, leaves))
            for samples, leaves in self._classes]
        degree = max(len(leaves) for _, leaves in self._classes)

        def along(steps):
            return np.array([
                sum(weight @ (at_start + step * change).prod(axis=1)
                    for weight, at_start, change in errors)
                for step in steps])

        first, longest = along([0.0])[0], 1.0
        while longest > 1e-12:
            polynomial = Chebyshev.interpolate(along, degree, domain=[0.0, longest])
            roots = polynomial.deriv().roots().real if degree > 1 else np.empty(0)
            steps = np.append(roots[(roots > 0.0) & (roots < longest)], longest)
            values = along(steps)
            if values.min() < first:
                return steps[values.argmin()]
            # Where the polynomial grows by orders of magnitude, the interpolation is not accurate
            # near 0.
            longest *= 0.1
        return 0.0

    def _leaf_errors(self, hinges, samples, leaves):
        """Errors of some leaves for some samples, shape (n_samples, n_leaves)."""
        to_left, to_right = self._path[:, leaves]
        return hinges[0, samples] @ to_left.T + hinges[1, samples] @ to_right.T


def _products_of_others(factors):
    """Product of all other factors in the row of each factor."""
    products = np.ones_like(factors)
    np.cumprod(factors[:, :-1], axis=1, out=products[:, 1:])
    after = np.cumprod(factors[:, :0:-1], axis=1)[:, ::-1]
    products[:, :-1] *= after
    return products
