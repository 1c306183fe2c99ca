"""Logistic regression in a node, drawn to the model of the node above.

The model of a node minimises

    sum of weight * log loss + penalty / 2 * |slopes - prior|^2 + pull / 2 * |value - value above|^2

over its samples, in scaled features. For two classes, the model is that of the difference of their
logits, of which each class gets half. So a tree without splits is scikit-learn's
`LogisticRegression` with C = 1 / penalty.
"""

from contextlib import suppress

import numpy as np
from numpy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dtrtri

from ngdt._methods.linear_leaves.log_loss import minimise_log_loss
from ngdt._util.arrays import log_probabilities

# Pull on the values, in samples; and where they are not drawn to the node above: just so much that
# they stay finite for classes without samples.
_PULL, _MIN_PULL = 1.0, 1e-3
# Least penalty: without one, the slopes of separable classes would be infinite.
_MIN_PENALTY = 1e-3
# Numbers of samples, and of values of X, by which the model of a node is fitted.
_MAX_SAMPLES, _MAX_VALUES = 20_000, 10_000_000
# Largest scaled value, whose products do not overflow.
_MAX_Z = 1e30
# Largest number of features whose products are used for the direction of steps.
_MAX_WHITENED = 500
# Number of classes from which those without samples in a node share one step from the model above.
# With 500 classes, most nodes have samples of a few.
_MANY_CLASSES = 50
# Gradient at which a model is good enough, in standard errors of the coefficients, and limit of the
# number of steps.
TOLERANCE, _MAX_STEPS = 5e-3, 100


class LogisticNode:
    """The samples of a node.

    Parameters
    ----------
    data : ScaledSamples
    samples : ndarray of int
        At least one. Of very many, some are drawn.
    """

    @staticmethod
    def constant(data, samples):
        """Logits of a constant leaf."""
        return data.problem.fit_leaves(np.zeros(len(samples), np.int32), samples, 1)[0]

    @staticmethod
    def ranges(data, samples):
        """Infinite ranges, shape (2,): logits are not clipped."""
        return np.array([-np.inf, np.inf])

    def __init__(self, data, samples):
        self.data, self.samples = data, samples
        limit = min(_MAX_SAMPLES, max(1000, _MAX_VALUES // max(1, len(data.features))))
        total = data.weight[samples].sum()
        if len(samples) > limit:
            random = np.random.RandomState(data.problem.random_state)
            samples = random.choice(samples, limit, replace=False)
        # The last column is that of the value, which is fitted as one more slope.
        self.columns = np.ones((len(samples), len(data.features) + 1))
        self.Z = self.columns[:, :-1]
        # Samples of next to no weight may be any number of standard deviations from the mean.
        np.clip(data.read(samples), -_MAX_Z, _MAX_Z, out=self.Z)
        self.y = data.y[samples, 0].astype(np.intp)
        weight = data.weight[samples]
        drawn = weight.sum()    # zero where all weights are too small next to their mean
        self.weight = weight * (total / drawn) if drawn > 0.0 else weight

    def fit(self, value, prior, penalties, *, is_drawn):
        """Values and slopes for each penalty; as `RidgeNode.fit`."""
        if not is_drawn:
            value = np.broadcast_to(self.constant(self.data, self.samples), value.shape)
        prior = np.broadcast_to(prior, (*value.shape, self.Z.shape[1]))
        fitted = [self._fit_one(*each, is_drawn) for each in zip(
            value, prior, penalties, strict=True)]
        return tuple(np.array(each) for each in zip(*fitted, strict=True))

    def _fit_one(self, value, prior, penalty, is_drawn):
        """Value and slopes for one penalty."""
        if np.isinf(penalty) and not is_drawn:
            return value, prior     # a constant leaf, as any other tree has it
        pull = _PULL if is_drawn else _MIN_PULL
        Z = self.columns[:, -1:].copy() if np.isinf(penalty) else self.columns
        ridge = np.append(np.full(Z.shape[1] - 1, max(penalty, _MIN_PENALTY)), pull)
        step = self._step(Z, value + self.Z @ prior.T, ridge)
        return value + step[-1], prior if np.isinf(penalty) else prior + step[:-1].T

    def _step(self, Z, logits, ridge):
        """The step of a model in its columns, the value last; shape (n_columns, n_classes).

        It minimises the sum of the log loss and half of its squares times `ridge`.
        """
        n_classes = logits.shape[1]
        if n_classes == 2:      # of the difference of the logits
            step, = self._minimise(Z, logits, self.y, ridge, np.ones(1))
            return np.column_stack([-0.5 * step, 0.5 * step])
        absent = np.setdiff1d(range(n_classes), self.y) if n_classes >= _MANY_CLASSES else ()
        if len(absent) < 2:
            return self._minimise(Z, logits, self.y, ridge, np.ones(n_classes)).T
        present, y = np.unique(self.y, return_inverse=True)
        # They make one class, and the squares of its step count as often as there are of them.
        times = np.append(np.ones(len(present)), len(absent))
        logits = np.column_stack([logits[:, present], _log_of_sum(logits[:, absent])])
        found = self._minimise(Z, logits, y, ridge, times).T
        step = np.empty((len(found), n_classes))
        step[:, present], step[:, absent] = found[:, :-1], found[:, -1:]
        return step

    def _minimise(self, Z, logits, y, ridge, times):
        """The step of the last classes, as many as `times` has; by class."""
        return minimise_log_loss(
            Z, np.ascontiguousarray(logits.T), y, self.weight, ridge, times,
            _whitening(Z, self.weight, logits, ridge), tol=TOLERANCE, max_steps=_MAX_STEPS,
            deadline=self.data.problem.control.deadline)

    def losses(self, value, slopes):
        """Sum of the log losses of a model for each penalty, shape (n_penalties,)."""
        every = np.arange(len(self.y))
        return np.array([
            -self.weight @ log_probabilities(v + self.Z @ s.T)[every, self.y]
            for v, s in zip(value, slopes, strict=True)])


def _log_of_sum(logits):
    """Logarithm of the sum of the exponentials of each row, shape (n, 1)."""
    largest = logits.max(axis=1, keepdims=True)
    return largest + np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))


def _whitening(Z, weight, logits, ridge):
    """Matrix that turns coordinates with a curvature of about 1 in all directions to coefficients.

    For two classes, a step along the gradient is then a Newton step. The curvature is that of the
    mean of the classes. Of a diagonal matrix, only the diagonal is returned, shape (1, p + 1).
    """
    p = np.exp(log_probabilities(logits))
    curvature = weight * (p * (1.0 - p)).mean(axis=1)
    if Z.shape[1] <= _MAX_WHITENED:
        products = (curvature[:, None] * Z).T @ Z
        products.flat[::len(ridge) + 1] += ridge
        # Next to products that are huge, the ridge is lost in rounding.
        with suppress(LinAlgError):
            return np.ascontiguousarray(dtrtri(cholesky(products), lower=1)[0])
    return 1.0 / np.sqrt(curvature @ Z**2 + ridge)[None]
