"""The losses that come with ngdt: two of classes, two of regression targets.

Each costs O(n_outputs) per leaf and sample. `profile`, `largest`, `smallest` and `gradient` read
their arguments and write to `out` alone, so that any number of threads may share a loss.
"""

from numbers import Real

import numpy as np

from libc.math cimport INFINITY, exp, fabs, log, pow

from ngdt._loss cimport Loss


cdef inline double larger(double a, double b) noexcept nogil:
    # libm's fmax keeps a promise about NaN that costs a function call.
    return a if a > b else b


def _number(name, value):
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    return value


cdef class LogLoss(Loss):
    """Negative log-probability of the class under a softmax: Norouzi (2015), eq. (2).

    Parameters
    ----------
    pseudo_count : float, default=1.0
        Weight added to each leaf, spread evenly over the classes, before the logarithm in
        `fit_leaves`; without it a pure leaf would have an infinite loss for the other classes.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt.losses import LogLoss
    >>> loss = LogLoss()
    >>> loss.value(np.log([[0.5, 0.5]]), loss.encode([1], n_outputs=2)).round(3)
    array([0.693])
    """

    name = "log"
    is_classifier = True

    def __init__(self, pseudo_count=1.0):
        if not 0 < _number("pseudo_count", pseudo_count) < INFINITY:
            raise ValueError(f"pseudo_count must be positive and finite, got {pseudo_count}")
        self.pseudo_count = pseudo_count

    cdef void profile(self, const double *values, int k, double *out) noexcept nogil:
        # The loss for every class: l(values, c) = logsumexp(values) - theta_c.
        cdef double top = values[0], total = 0.0
        cdef int c
        for c in range(1, k):
            top = larger(top, values[c])
        for c in range(k):
            total += exp(values[c] - top)
        total = log(total)
        for c in range(k):
            out[c] = total + (top - values[c])

    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return hi[<int> y[0]]

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return lo[<int> y[0]]

    cdef void gradient(
            self, const double *values, int k, const double *y, double *out) noexcept nogil:
        # softmax(values) minus the indicator of the class
        cdef double top = values[0], total = 0.0
        cdef int c
        for c in range(1, k):
            top = larger(top, values[c])
        for c in range(k):
            out[c] = exp(values[c] - top)
            total += out[c]
        for c in range(k):
            out[c] /= total
        out[<int> y[0]] -= 1.0

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        cell = np.asarray(leaf, dtype=np.intp) * n_outputs + y[:, 0].astype(np.intp)
        count = np.bincount(cell, weights=sample_weight, minlength=n_leaves * n_outputs)
        count = count.reshape(n_leaves, n_outputs)
        count[count.sum(axis=1) == 0] = count.sum(axis=0)
        # One pseudo-sample is shared by the classes: one for each of many classes would outweigh a
        # small leaf.
        count += self.pseudo_count / n_outputs
        return np.log(count / count.sum(axis=1, keepdims=True))

    def __reduce__(self):
        return type(self), (self.pseudo_count,)

    def __repr__(self):
        return f"{type(self).__name__}(pseudo_count={self.pseudo_count:g})"


cdef class BoundedLoss(LogLoss):
    """Bounded variant of the log loss, (1 - p**q) / q for the probability p of the class.

    Between the log loss (q -> 0) and the 0/1-like 1 - p (q = 1); a mislabelled sample cannot pull
    harder than 1/q. Known as the generalised cross entropy of Zhang and Sabuncu (2018).

    Parameters
    ----------
    q : float in (0, 1], default=0.5
    pseudo_count : float, default=1.0
        As for `LogLoss`.

    Examples
    --------
    >>> from ngdt.losses import BoundedLoss
    >>> loss = BoundedLoss(q=1.0)
    >>> loss.value([[-1000.0, 0.0]], loss.encode([0], n_outputs=2))
    array([1.])
    """

    name = "bounded"

    def __init__(self, q=0.5, pseudo_count=1.0):
        super().__init__(pseudo_count)
        if not 0 < _number("q", q) <= 1:
            raise ValueError(f"q must be in (0, 1], got {q}")
        self.q = q

    cdef void profile(self, const double *values, int k, double *out) noexcept nogil:
        cdef int c
        LogLoss.profile(self, values, k, out)
        for c in range(k):
            out[c] = (1.0 - exp(-self.q * out[c])) / self.q

    cdef void gradient(
            self, const double *values, int k, const double *y, double *out) noexcept nogil:
        # d/dtheta (1 - p^q)/q = p^q * d/dtheta(-log p)
        cdef double p
        cdef int c
        LogLoss.gradient(self, values, k, y, out)
        p = out[<int> y[0]] + 1.0
        for c in range(k):
            out[c] *= pow(p, self.q)

    def __reduce__(self):
        return type(self), (self.q, self.pseudo_count)

    def __repr__(self):
        return f"BoundedLoss(q={self.q:g}, pseudo_count={self.pseudo_count:g})"


cdef class SquaredLoss(Loss):
    """Squared distance between the leaf values and y: Norouzi (2015), eq. (3).

    There may be one target or several.

    Examples
    --------
    >>> from ngdt.losses import SquaredLoss
    >>> loss = SquaredLoss()
    >>> loss.value([[1.0, 2.0]], loss.encode([[1.0, 4.0]], n_outputs=2))
    array([4.])
    """

    name = "squared"
    is_classifier = False

    def __cinit__(self, *args, **kwargs):
        self.limit = INFINITY

    cdef double rho(self, double e) noexcept nogil:
        # Quadratic up to the limit, then linear: the Huber loss; the squared loss has no limit.
        return e * e if e <= self.limit else self.limit * (2.0 * e - self.limit)

    cdef void profile(self, const double *values, int k, double *out) noexcept nogil:
        cdef int t
        for t in range(k):
            out[t] = values[t]

    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        # The farthest corner of the box, target by target.
        cdef double total = 0.0
        cdef int t
        for t in range(k):
            total += self.rho(larger(fabs(y[t] - lo[t]), fabs(hi[t] - y[t])))
        return total

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        cdef double total = 0.0
        cdef int t
        for t in range(k):
            total += self.rho(larger(0.0, larger(lo[t] - y[t], y[t] - hi[t])))
        return total

    cdef void gradient(
            self, const double *values, int k, const double *y, double *out) noexcept nogil:
        cdef int t
        for t in range(k):
            out[t] = 2.0 * larger(-self.limit, -larger(-self.limit, y[t] - values[t]))

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        weight = np.bincount(leaf, weights=sample_weight, minlength=n_leaves)
        overall = np.average(y, axis=0, weights=sample_weight)
        total = np.stack(
            [np.bincount(leaf, weights=sample_weight * (y[:, t] - overall[t]), minlength=n_leaves)
             for t in range(n_outputs)], axis=1)
        return overall + total / np.where(weight == 0, 1.0, weight)[:, None]


cdef class HuberLoss(SquaredLoss):
    """Squared near the target, linear beyond `limit`: robust to targets far out.

    Leaves are fitted by the mean, which is what a regression tree reports.

    Parameters
    ----------
    limit : float, default=2.0
        Error up to which the loss is quadratic, in units of y (the estimators standardise y).

    Examples
    --------
    >>> from ngdt.losses import HuberLoss
    >>> loss = HuberLoss(limit=2.0)
    >>> loss.value([[1.0], [10.0]], loss.encode([0.0, 0.0], n_outputs=1))
    array([ 1., 36.])
    """

    name = "huber"

    def __init__(self, limit=2.0):
        if not _number("limit", limit) > 0:
            raise ValueError(f"limit must be positive, got {limit}")
        self.limit = limit

    def __reduce__(self):
        return type(self), (self.limit,)

    def __repr__(self):
        return f"HuberLoss(limit={self.limit:g})"
