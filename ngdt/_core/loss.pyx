"""Losses of a leaf, and of a set of leaves.

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

from ngdt._util.validation import error_prefix


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
        As parameters of the estimators.
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
        """What leaf values predict, in the form of `encode`.

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
        """Whether leaf values mean the same for another loss.

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
        values, y = self._check(values, y)
        self._check_lengths(values, y)
        cdef const double[:, ::1] t = values, target = y
        out = np.empty(len(t))
        cdef double[::1] o = out
        cdef double[::1] profile = np.empty(t.shape[1])
        cdef Py_ssize_t i
        with nogil:
            for i in range(t.shape[0]):
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
        values, y = self._check(values, y)
        self._check_lengths(values, y)
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

    def _check_lengths(self, values, y):
        if len(values) != len(y):
            raise ValueError(f"values has {len(values)} rows, but y has {len(y)}")

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
        return type(self), ()

    def __repr__(self):
        return f"{type(self).__name__}()"
