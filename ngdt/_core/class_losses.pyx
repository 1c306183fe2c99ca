"""The losses of classes."""

import numpy as np

from ngdt._util.validation import check_number

from libc.math cimport INFINITY, exp, log, pow

from ngdt._core.loss cimport Loss, larger


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
        if not 0 < check_number("pseudo_count", pseudo_count) < INFINITY:
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

    Leaves are fitted as for the log loss, so that they predict the shares of the classes. The
    probabilities of the least bounded loss are closer to 0 and 1.

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
        if not 0 < check_number("q", q) <= 1:
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
