"""Losses of a leaf, and of a set of leaves.

The search for the worst or best leaf prunes with the largest (smallest) loss below a node. For
that, each loss sees a leaf through its *profile*: a row of numbers, as many as the tree has
outputs, of which the loss is a function. The profiles of a set of leaves are summed up by their
elementwise minimum `lo` and maximum `hi`, and the loss bounds itself over that box. A leaf is the
box lo = hi, so `largest` and `smallest` are the value there.

A new loss subclasses `Loss` in Cython and overrides the four kernels and `fit_leaves`.
"""

from numbers import Real

import numpy as np

from ngdt._validation import error_prefix

from libc.math cimport INFINITY, exp, fabs, log, pow


cdef inline double larger(double a, double b) noexcept nogil:
    # libm's fmax keeps a promise about NaN that costs a function call.
    return a if a > b else b


def _number(name, value):
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    return value


cdef class Loss:
    """Base class: loss of leaf parameters theta against a target y.

    Targets are float64 rows of one class index (classification) or of one number per output
    (regression); see `encode`.

    Cython subclasses override

    - ``profile(theta, k, out)``: write the k numbers through which leaves are compared,
    - ``largest(lo, hi, k, y)``: largest loss of any leaf whose profile lies in the box; must be
      exact for lo = hi, may be too large elsewhere, never too small,
    - ``smallest(lo, hi, k, y)``: the mirror image, never too large,
    - ``gradient(theta, k, y, out)``: write the k derivatives of the loss in theta,
    - ``fit_leaves``: the best theta for weighted sets of targets.
    """

    name = "loss"
    is_classifier = False

    cdef void profile(self, const double *theta, int k, double *out) noexcept nogil:
        pass

    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return 0.0

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return 0.0

    cdef void gradient(
            self, const double *theta, int k, const double *y, double *out) noexcept nogil:
        pass

    def encode(self, y, n_outputs):
        """Check targets and bring them into the form the kernels read.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Encoded targets pass unchanged.
        n_outputs : int
            Number of classes, or of regression targets.

        Returns
        -------
        ndarray of float64, C-contiguous, shape (n_samples, 1) or (n_samples, n_outputs)

        Raises
        ------
        ValueError
            If y has the wrong shape, is not finite, or names a class that does not exist.
        """
        with error_prefix("y"):
            y = np.asarray(y)
        if y.dtype.kind not in "biuf":
            what = "class indices" if self.is_classifier else "numbers"
            raise TypeError(f"y must hold {what} for the {self.name} loss, got dtype {y.dtype}")
        if not np.isfinite(y).all():
            raise ValueError("y must be finite, got NaN or infinity")
        if self.is_classifier:
            if y.ndim != 1 and y.shape[1:] != (1,):
                raise ValueError(f"y must have one class index per sample, got shape {y.shape}")
            if y.size and ((y != np.floor(y)).any() or y.min() < 0 or y.max() >= n_outputs):
                raise ValueError(
                    f"y must hold class indices 0..{n_outputs - 1}, "
                    f"got values from {y.min()} to {y.max()}")
            y = y.reshape(-1, 1)
        else:
            y = y.reshape(-1, 1) if y.ndim == 1 else y
            if y.ndim != 2 or y.shape[1] != n_outputs:
                raise ValueError(
                    f"y must have shape (n_samples, {n_outputs}), got {y.shape}")
        return np.ascontiguousarray(y, dtype=np.float64)

    def value(self, theta, y):
        """Loss of each row of theta against the encoded target of the same row.

        Parameters
        ----------
        theta : ndarray of shape (n_samples, n_outputs)
        y : ndarray, as returned by `encode`

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        theta, y = self._fitting(theta, y)
        self._check_rows(theta, y)
        cdef const double[:, ::1] t = theta
        cdef const double[:, ::1] target = y
        out = np.empty(len(t))
        cdef double[::1] o = out
        cdef double[::1] profile = np.empty(t.shape[1])
        cdef Py_ssize_t i
        for i in range(t.shape[0]):
            self.profile(&t[i, 0], t.shape[1], &profile[0])
            o[i] = self.largest(&profile[0], &profile[0], t.shape[1], &target[i, 0])
        return out

    def theta_gradient(self, theta, y):
        """Derivative of `value` in theta, row by row.

        Parameters
        ----------
        theta : ndarray of shape (n_samples, n_outputs)
        y : ndarray, as returned by `encode`

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        theta, y = self._fitting(theta, y)
        self._check_rows(theta, y)
        cdef const double[:, ::1] t = theta
        cdef const double[:, ::1] target = y
        out = np.empty((t.shape[0], t.shape[1]))
        cdef double[:, ::1] o = out
        cdef Py_ssize_t i
        for i in range(t.shape[0]):
            self.gradient(&t[i, 0], t.shape[1], &target[i, 0], &o[i, 0])
        return out

    def extremes(self, theta, y):
        """Bounds on the loss over a whole set of leaves, for each target.

        Parameters
        ----------
        theta : ndarray of shape (n_leaves, n_outputs)
        y : ndarray, as returned by `encode`

        Returns
        -------
        smallest, largest : ndarray of shape (n_samples,)
            No leaf's loss lies outside.
        """
        theta, y = self._fitting(theta, y)
        cdef const double[:, ::1] t = theta
        cdef const double[:, ::1] target = y
        profiles = np.empty((t.shape[0], t.shape[1]))
        cdef double[:, ::1] profile = profiles
        cdef Py_ssize_t i
        for i in range(t.shape[0]):
            self.profile(&t[i, 0], t.shape[1], &profile[i, 0])
        cdef double[::1] lo = profiles.min(axis=0)
        cdef double[::1] hi = profiles.max(axis=0)
        smallest, largest = np.empty(len(target)), np.empty(len(target))
        cdef double[::1] s = smallest
        cdef double[::1] b = largest
        for i in range(target.shape[0]):
            s[i] = self.smallest(&lo[0], &hi[0], t.shape[1], &target[i, 0])
            b[i] = self.largest(&lo[0], &hi[0], t.shape[1], &target[i, 0])
        return smallest, largest

    def _fitting(self, theta, y):
        """theta and y in the form the kernels read; they index y by class without looking."""
        with error_prefix("theta"):
            theta = np.ascontiguousarray(theta, dtype=np.float64)
        if theta.ndim != 2 or theta.size == 0:
            raise ValueError(f"theta must be a matrix that is not empty, got shape {theta.shape}")
        return theta, self.encode(y, theta.shape[1])

    def _check_rows(self, theta, y):
        if len(theta) != len(y):
            raise ValueError(f"theta has {len(theta)} rows, but y has {len(y)}")

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        """Best leaf parameters for the weighted targets assigned to each leaf.

        Parameters
        ----------
        leaf : ndarray of int, shape (n_samples,)
            Leaf of each sample.
        y : ndarray, as returned by `encode`
        sample_weight : ndarray of shape (n_samples,)
        n_leaves, n_outputs : int

        Returns
        -------
        ndarray of shape (n_leaves, n_outputs)
            A leaf without weight gets the best parameters for all samples together.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define fit_leaves")

    def __reduce__(self):
        return type(self), ()

    def __repr__(self):
        return f"{type(self).__name__}()"


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

    cdef void profile(self, const double *theta, int k, double *out) noexcept nogil:
        # The loss for every class: l(theta, c) = logsumexp(theta) - theta_c.
        cdef double top = theta[0], total = 0.0
        cdef int c
        for c in range(1, k):
            top = larger(top, theta[c])
        for c in range(k):
            total += exp(theta[c] - top)
        total = log(total)
        for c in range(k):
            out[c] = total + (top - theta[c])

    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return hi[<int> y[0]]

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return lo[<int> y[0]]

    cdef void gradient(
            self, const double *theta, int k, const double *y, double *out) noexcept nogil:
        # softmax(theta) minus the indicator of the class
        cdef double top = theta[0], total = 0.0
        cdef int c
        for c in range(1, k):
            top = larger(top, theta[c])
        for c in range(k):
            out[c] = exp(theta[c] - top)
            total += out[c]
        for c in range(k):
            out[c] /= total
        out[<int> y[0]] -= 1.0

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        cell = np.asarray(leaf) * n_outputs + y[:, 0].astype(np.intp)
        count = np.bincount(cell, weights=sample_weight, minlength=n_leaves * n_outputs)
        count = count.reshape(n_leaves, n_outputs)
        count[count.sum(axis=1) == 0] = count.sum(axis=0)
        # One pseudo-sample is shared by the classes: many classes shall not drown a small leaf.
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

    cdef void profile(self, const double *theta, int k, double *out) noexcept nogil:
        cdef int c
        LogLoss.profile(self, theta, k, out)
        for c in range(k):
            out[c] = (1.0 - exp(-self.q * out[c])) / self.q

    cdef void gradient(
            self, const double *theta, int k, const double *y, double *out) noexcept nogil:
        # d/dtheta (1 - p^q)/q = p^q * d/dtheta(-log p)
        cdef double p
        cdef int c
        LogLoss.gradient(self, theta, k, y, out)
        p = out[<int> y[0]] + 1.0
        for c in range(k):
            out[c] *= pow(p, self.q)

    def __reduce__(self):
        return type(self), (self.q, self.pseudo_count)

    def __repr__(self):
        return f"BoundedLoss(q={self.q:g}, pseudo_count={self.pseudo_count:g})"


cdef class SquaredLoss(Loss):
    """Squared distance between theta and y: Norouzi (2015), eq. (3). One or several targets.

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

    cdef void profile(self, const double *theta, int k, double *out) noexcept nogil:
        cdef int t
        for t in range(k):
            out[t] = theta[t]

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
            self, const double *theta, int k, const double *y, double *out) noexcept nogil:
        cdef int t
        for t in range(k):
            out[t] = 2.0 * larger(-self.limit, -larger(-self.limit, y[t] - theta[t]))

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


LOSSES = {loss.name: loss for loss in (LogLoss, BoundedLoss, SquaredLoss, HuberLoss)}


def get_loss(loss):
    """Loss object from a name or an object.

    Parameters
    ----------
    loss : str or Loss
        A key of `LOSSES`, or an instance.

    Returns
    -------
    Loss

    Examples
    --------
    >>> from ngdt.losses import get_loss
    >>> get_loss("log")
    LogLoss(pseudo_count=1)
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss in LOSSES:
            return LOSSES[loss]()
        raise ValueError(f"loss must be one of {sorted(LOSSES)} or a Loss object, got {loss!r}")
    raise TypeError(f"loss must be one of {sorted(LOSSES)} or a Loss object, got {loss!r}")
