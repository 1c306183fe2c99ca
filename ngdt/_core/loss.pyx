"""Losses of a leaf, and of a set of leaves: the interface, and the losses of classes.

The search for the worst or best leaf prunes with the largest (smallest) loss below a node. For
that, each loss describes a leaf by its *profile*: as many numbers as the tree has outputs, of which
the loss is a function. The profiles of a set of leaves are summarized by their elementwise minimum
`lo` and maximum `hi`, and the loss has bounds over that box. A leaf is the box lo = hi, so
`largest` and `smallest` are the value there.

The kernels cost O(n_outputs), read their arguments and write to `out` alone: any number of threads
may share a loss.

A new loss subclasses `Loss` in Cython and overrides the four kernels and `fit_leaves`.
"""

import numpy as np

from ngdt._util.validation import check_number, error_prefix

from libc.math cimport INFINITY, exp, log, pow
from libc.string cimport memcpy

# Relative difference up to which the weights of two classes in a leaf are equal but for rounding.
_TIE = 1e-13


cdef class Loss:
    """Base class: loss of leaf values against a target y.

    Targets are float64: one class index per sample (classification) or one number per output
    (regression); see `encode`.

    Cython subclasses override

    - ``profile(values, k, out)``: write the k numbers through which leaves are compared,
    - ``largest(lo, hi, k, y)``: largest loss of any leaf whose profile lies in the box; must be
      exact for lo = hi, may be too large elsewhere, never too small,
    - ``smallest(lo, hi, k, y)``: the mirror image, never too large,
    - ``gradient(values, k, y, out)``: write the k derivatives of the loss in the values,
    - ``fit_leaves``: the best values for weighted sets of targets.

    Attributes
    ----------
    name : str
        As in the parameter `loss` of the estimators.
    is_classifier : bool
        Whether targets are classes.
    is_squared : bool
        Whether this is the squared loss, whose least sum is known in closed form.
    has_log_link : bool
        Whether leaf values are logarithms of predictions; see `decode`. The estimators then divide
        targets by their mean, instead of standardising them.
    scale_power : int
        Power of the unit of the targets in which the loss is measured.
    """

    name = "loss"
    is_classifier = False
    is_squared = False
    has_log_link = False
    scale_power = 1
    # Arguments of the constructor, by which a loss is copied, stored and shown.
    _parameters = ()

    cdef void profile(self, const double *values, int k, double *out) noexcept nogil:
        pass

    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return 0.0

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return 0.0

    cdef void gradient(
            self, const double *values, int k, const double *y, double *out) noexcept nogil:
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
            # Kernels use it as an index without a check.
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

    def decode(self, values):
        """Predictions of leaf values, in the form of `encode`.

        Parameters
        ----------
        values : ndarray of shape (n, n_outputs)

        Returns
        -------
        ndarray of shape (n, 1) or (n, n_outputs)
            Class indices, or targets.
        """
        return values.argmax(axis=1)[:, None] if self.is_classifier else values

    def values_of(self, y):
        """Leaf values that predict given targets: the inverse of `decode`, for regression.

        Parameters
        ----------
        y : ndarray of shape (n, n_outputs)

        Returns
        -------
        ndarray of shape (n, n_outputs)
        """
        return y

    def fits(self, Loss other not None):
        """Tell whether leaf values mean the same for another loss.

        Parameters
        ----------
        other : Loss

        Returns
        -------
        bool
        """
        return (self.is_classifier == other.is_classifier
                and self.has_log_link == other.has_log_link)

    def split_targets(self, y, sample_weight):
        """Targets whose variance greedy splits reduce, for regression.

        Parameters
        ----------
        y : ndarray, as returned by `encode`
        sample_weight : ndarray of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            By default, y. It has to be C-contiguous, and equal where targets are.
        """
        return y

    def errors(self, values, y):
        """Error of each sample, by which trees are compared.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_outputs)
            Of the leaf that each sample reaches.
        y : ndarray, as returned by `encode`

        Returns
        -------
        ndarray of shape (n_samples,)
            0 or 1 for classes, else the loss.
        """
        if self.is_classifier:
            # Trees of classes are compared by what they get wrong, whatever they were trained on.
            return (self.decode(values) != y)[:, 0].astype(np.float64)
        return self.value(values, y)

    def value(self, values, y):
        """Loss of the leaf values of each sample against its encoded target.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_outputs)
        y : ndarray, as returned by `encode`

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values, y = self._check_pairs(values, y)
        cdef const double[:, ::1] t = values, target = y
        out = np.empty(len(t))
        cdef double[::1] o = out
        cdef double[::1] profile = np.empty(t.shape[1])
        cdef Py_ssize_t i
        with nogil:
            for i in range(t.shape[0]):
                # A leaf is the box lo = hi, where `largest` is exact.
                self.profile(&t[i, 0], t.shape[1], &profile[0])
                o[i] = self.largest(&profile[0], &profile[0], t.shape[1], &target[i, 0])
        return out

    def values_gradient(self, values, y):
        """Derivative of `value` in the leaf values, sample by sample.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_outputs)
        y : ndarray, as returned by `encode`

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        values, y = self._check_pairs(values, y)
        cdef const double[:, ::1] t = values, target = y
        out = np.empty((t.shape[0], t.shape[1]))
        cdef double[:, ::1] o = out
        cdef Py_ssize_t i
        with nogil:
            for i in range(t.shape[0]):
                self.gradient(&t[i, 0], t.shape[1], &target[i, 0], &o[i, 0])
        return out

    def extremes(self, values, y):
        """Bounds on the loss over a whole set of leaves, for each target.

        Parameters
        ----------
        values : ndarray of shape (n_leaves, n_outputs)
        y : ndarray, as returned by `encode`

        Returns
        -------
        smallest, largest : ndarray of shape (n_samples,)
            No leaf's loss lies outside.
        """
        values, y = self._check(values, y)
        cdef const double[:, ::1] t = values, target = y
        profiles = np.empty((t.shape[0], t.shape[1]))
        cdef double[:, ::1] profile = profiles
        cdef Py_ssize_t i
        with nogil:
            for i in range(t.shape[0]):
                self.profile(&t[i, 0], t.shape[1], &profile[i, 0])
        # The box is wider than the set of leaves: bounds may be loose, never wrong.
        cdef double[::1] lo = profiles.min(axis=0), hi = profiles.max(axis=0)
        smallest, largest = np.empty(len(target)), np.empty(len(target))
        cdef double[::1] s = smallest, b = largest
        with nogil:
            for i in range(target.shape[0]):
                s[i] = self.smallest(&lo[0], &hi[0], t.shape[1], &target[i, 0])
                b[i] = self.largest(&lo[0], &hi[0], t.shape[1], &target[i, 0])
        return smallest, largest

    def _check(self, values, y):
        """values and y as the kernels read them, which index by class without a check."""
        with error_prefix("values"):
            values = np.ascontiguousarray(values, dtype=np.float64)
        if values.ndim != 2 or values.size == 0:
            raise ValueError(f"values must be a matrix that is not empty, got shape {values.shape}")
        return values, self.encode(y, values.shape[1])

    def _check_pairs(self, values, y):
        """The same, of as many rows."""
        values, y = self._check(values, y)
        if len(values) != len(y):
            raise ValueError(f"values has {len(values)} rows, but y has {len(y)}")
        return values, y

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        """Best leaf values for the weighted targets assigned to each leaf.

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
            A leaf without weight gets the best values for all samples together.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define fit_leaves")

    def __reduce__(self):
        return type(self), tuple(getattr(self, name) for name in self._parameters)

    def __repr__(self):
        given = ", ".join(f"{name}={getattr(self, name):g}" for name in self._parameters)
        return f"{type(self).__name__}({given})"


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

    name = "log_loss"
    is_classifier = True
    _parameters = ("pseudo_count",)

    def __init__(self, pseudo_count=1.0):
        if not 0 < check_number("pseudo_count", pseudo_count) < INFINITY:
            raise ValueError(f"pseudo_count must be positive and finite, got {pseudo_count}")
        self.pseudo_count = pseudo_count

    cdef void profile(self, const double *values, int k, double *out) noexcept nogil:
        # The loss for every class: l(values, c) = logsumexp(values) - theta_c.
        # Relative to the largest value no exponential overflows, and the sum is at least 1.
        cdef double top = values[0], total = 0.0
        cdef int c
        for c in range(1, k):
            top = larger(top, values[c])
        for c in range(k):
            total += exp(values[c] - top)
        total = log(total)
        for c in range(k):
            # In this order, values far from zero do not swallow the logarithm.
            out[c] = total + (top - values[c])

    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        # The loss for a class is one of the numbers of the profile, so bounds are exact.
        return hi[<int> y[0]]

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        return lo[<int> y[0]]

    cdef void gradient(
            self, const double *values, int k, const double *y, double *out) noexcept nogil:
        # softmax(values) minus the indicator of the class
        memcpy(out, values, k * sizeof(double))
        to_probabilities(out, k)
        out[<int> y[0]] -= 1.0

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        count = class_weights(leaf, y, sample_weight, n_leaves, n_outputs)
        of_all = count.sum(axis=0)
        # A leaf without weight predicts the shares of all samples.
        count[count.sum(axis=1) == 0] = of_all
        # Of the most frequent classes of a leaf, the one that is most frequent among all samples.
        is_top = count >= (1.0 - _TIE) * count.max(axis=1, keepdims=True)
        best = np.where(is_top, of_all, -1.0).argmax(axis=1)
        # One pseudo-sample is shared by the classes: one for each of many classes would outweigh a
        # small leaf.
        count += self.pseudo_count / n_outputs
        values = np.log(count / count.sum(axis=1, keepdims=True))
        # It is predicted, even where the pseudo-sample outweighs all others.
        largest, is_other = values.max(axis=1), values.argmax(axis=1) != best
        values[is_other, best[is_other]] = largest[is_other] + 0.01 * _TIE
        return values


def class_weights(leaf, y, sample_weight, n_leaves, n_classes):
    """Weight of each class in each leaf.

    Parameters
    ----------
    leaf, y, sample_weight, n_leaves
        As for `Loss.fit_leaves`.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_leaves, n_classes)
    """
    # One count for leaves and classes together: bincount has one dimension.
    cell = np.asarray(leaf, dtype=np.intp) * n_classes + y[:, 0].astype(np.intp)
    return np.bincount(cell, sample_weight, n_leaves * n_classes).reshape(n_leaves, n_classes)


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
    _parameters = ("q", "pseudo_count")

    def __init__(self, q=0.5, pseudo_count=1.0):
        super().__init__(pseudo_count)
        if not 0 < check_number("q", q) <= 1:
            raise ValueError(f"q must be in (0, 1], got {q}")
        self.q = q

    cdef void profile(self, const double *values, int k, double *out) noexcept nogil:
        cdef int c
        LogLoss.profile(self, values, k, out)
        # It increases with the log loss: what is extreme stays extreme, and the bounds of
        # `LogLoss` hold for these profiles.
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
