"""The multilinear program of global tree optimization: objective, gradient, segments.

Everything is a function of the *hinge errors* of all samples at all nodes, an array of shape
(2, n_samples, n_internal): ``max(0, 1 + score)`` where a sample should be on the left, and
``max(0, 1 - score)`` where it should be on the right.
"""

import numpy as np
from numpy.polynomial import Chebyshev


class Multilinear:
    """Errors of the points of a tree whose structure and leaf classes are fixed.

    Parameters
    ----------
    tree : Tree
        Each leaf belongs to the class with the largest value.
    label : ndarray of int, shape (n_samples,)
        Class of each sample.
    weight : ndarray of float64, shape (n_samples,)
        Positive; scaled to sum 1 within each class.
    """

    def __init__(self, tree, label, weight):
        steps = tree.ancestors().toarray()
        # Hinge errors that add up to the error of each leaf, left and right
        self._path = np.stack([steps < 0, steps > 0]).astype(np.float64)
        self._leaf_class = tree.values.argmax(axis=1)
        self._weight = weight / np.bincount(label, weights=weight)[label]
        # Of each class: its rows, and its leaves
        self._classes = [
            (np.flatnonzero(label == c), np.flatnonzero(self._leaf_class == c))
            for c in np.unique(label)]

    @staticmethod
    def hinges(scores):
        """Hinge errors, shape (2, n_samples, n_internal), of scores (n_samples, n_internal)."""
        return np.maximum(0.0, np.stack([1.0 + scores, 1.0 - scores]))

    def objective(self, hinges):
        """Mean error of each class, summed over classes.

        The error of a point is the product of the errors of the leaves of its class, and the error
        of a leaf the sum of the hinge errors on the path to it. A class without a leaf adds 1.
        """
        return sum(
            self._weight[rows] @ self._leaf_errors(hinges, rows, leaves).prod(axis=1)
            for rows, leaves in self._classes)

    def gradient(self, hinges):
        """Derivatives of the objective by each hinge error; none is negative."""
        gradient = np.zeros_like(hinges)
        for rows, leaves in self._classes:
            by_leaf = self._weight[rows, None] * _products_of_others(
                self._leaf_errors(hinges, rows, leaves))
            gradient[:, rows] = by_leaf @ self._path[:, leaves]
        return gradient

    def best_step(self, start, end):
        """Where on the segment between two arrays of hinge errors the objective is smallest.

        It is a polynomial there, of a degree that is the largest number of leaves of a class. The
        least of its values at the ends and where its derivative vanishes is exact but for rounding.

        Returns
        -------
        float
            Share of the way, in [0, 1]; 0 only if no other step is better.
        """
        errors = [
            (self._weight[rows], self._leaf_errors(start, rows, leaves),
             self._leaf_errors(end - start, rows, leaves))
            for rows, leaves in self._classes]
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
            # A polynomial that grows by orders of magnitude is not resolved near its start.
            longest *= 0.1
        return 0.0

    def _leaf_errors(self, hinges, rows, leaves):
        """Errors of some leaves for some rows, shape (n_rows, n_leaves)."""
        to_left, to_right = self._path[:, leaves]
        return hinges[0, rows] @ to_left.T + hinges[1, rows] @ to_right.T


def _products_of_others(factors):
    """For each factor, the product of all others in its row."""
    products = np.ones_like(factors)
    np.cumprod(factors[:, :-1], axis=1, out=products[:, 1:])
    after = np.cumprod(factors[:, :0:-1], axis=1)[:, ::-1]
    products[:, :-1] *= after
    return products
