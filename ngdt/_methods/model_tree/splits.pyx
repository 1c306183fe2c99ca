"""Axis-aligned splits after which constants, or linear models, fit best, of sorted samples.

Shapes are not checked, nor the samples in `order`, which come from a sort.
"""

import numpy as np

from libc.float cimport DBL_MIN
from libc.math cimport INFINITY, NAN, isnan
from libc.stdint cimport int32_t
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dsyrk

cdef extern from "dot.h" nogil:
    void ngdt_eliminate(Py_ssize_t d, Py_ssize_t q, Py_ssize_t stride, double *a) noexcept

ctypedef const double[:, ::1] Matrix
ctypedef const int32_t[:, ::1] Order

# Number of samples whose products are added up by one call of BLAS: they stay in the cache of the
# first level between the copy and the call.
cdef enum:
    BLOCK = 256

# Share of the squared targets within which errors count as equal.
cdef double ROUNDING = 1e-9


def split_errors(
        Matrix rows not None, Matrix Z not None, Order order not None, double penalty,
        Py_ssize_t n_outputs, Py_ssize_t n_cuts, Py_ssize_t least, double limit,
        bint of_each=False):
    """Errors of two linear models on the sides of the best splits.

    A model is a ridge regression of the targets on the features, with a free intercept. Its error
    is the sum of squares with the penalty, which is what the model minimises. The splits of a
    feature lie at the quantiles, and where samples are equal there, on both sides of them.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, 1 + q + n_outputs)
        A one, q features and the targets of each sample, times the square root of its weight.
    Z : ndarray of float64, shape (p, n)
        Values of the features to split by.
    order : ndarray of int32, shape (p, n)
        The samples by each of these, ascending.
    penalty : float
        Of the squared slopes, positive.
    n_outputs : int
    n_cuts : int
        Number of quantiles. Fewer than that many samples are split everywhere.
    least : int
        Number of samples on each side, at least 1.
    limit : float
        Splits with a larger error need not be found.
    of_each : bool, default=False
        Whether the best split of each feature is found, and not only that of all.

    Returns
    -------
    errors : ndarray of float64, shape (p, 2 * n_cuts)
        Infinite where there is no split, and where one has been shown to be above the limit, or not
        to be the best.
    n_left : ndarray of int32, shape (p, 2 * n_cuts)
        Number of samples on the left of each split, 0 where there is none.

    Notes
    -----
    With d columns of `rows`, a feature costs n d^2 / 2 multiplications for the products of the
    samples, which the cuts share, and d^3 / 6 for each side of a cut, of which bounds leave out
    more than half. On one core, 4e9 a second were measured, for 20 000 samples of 20 features.
    """
    cdef:
        Py_ssize_t p = order.shape[0], n = order.shape[1], d = rows.shape[1]
        double[:, ::1] errors = np.full((p, 2 * n_cuts), np.inf)
        int32_t[:, ::1] n_left = np.zeros((p, 2 * n_cuts), np.int32)
        double[:, ::1] block = np.empty((BLOCK, d))
        int32_t[::1] every = np.arange(n, dtype=np.int32)
        Py_ssize_t j, k, n_splits
        Cuts cuts
    cuts = Cuts(min(n - 1, 2 * n_cuts), d, n_outputs, penalty)
    with nogil:
        add_products(rows, every, 0, n, block, cuts.total)
        cuts.begin(limit)
        for j in range(p):
            n_splits = choose_cuts(Z[j], order[j], n_cuts, least, n_left[j])
            if n_splits == 0:
                continue
            if of_each:
                cuts.begin(limit)
            for k in range(n_splits):
                # Sums grow from cut to cut, so that each sample is read once.
                if k == 0:
                    cuts.products[0, :, :] = 0.0
                else:
                    cuts.products[k] = cuts.products[k - 1]
                add_products(rows, order[j], n_left[j, k - 1] if k > 0 else 0, n_left[j, k], block,
                             cuts.products[k])
            cuts.search(n_splits, errors[j])
    return np.asarray(errors), np.asarray(n_left)


cdef class Cuts:
    """Branch and bound over the cuts of a feature, of which few are better than all before.

    The error on the left of a cut cannot fall from one cut to the next, nor that on the right rise:
    more samples are never fitted better. So no cut from a to b is better than the error on the left
    of a plus that on the right of b. Cuts within rounding of the best are all looked at: which one
    is the first of the best does not depend on the features that another thread has.
    """

    cdef double[:, :, ::1] products     # over the samples on the left of each cut
    cdef double[:, ::1] total, work
    cdef double[:, ::1] sides           # error on the left and right of each cut; NaN if unknown
    cdef double[::1] errors
    cdef double reach, margin, penalty
    cdef Py_ssize_t n_outputs

    def __init__(self, n_cuts, d, n_outputs, penalty):
        self.products = np.empty((n_cuts, d, d))
        self.total, self.work = np.zeros((d, d)), np.zeros((d, (d + 7) // 8 * 8))
        self.sides = np.empty((2, n_cuts))
        self.penalty, self.n_outputs = penalty, n_outputs

    cdef void begin(self, double limit) noexcept nogil:
        """Set the margin for rounding, and the error up to which cuts are looked at."""
        cdef Py_ssize_t d = self.total.shape[0], i
        self.margin = 0.0
        for i in range(d - self.n_outputs, d):
            self.margin += ROUNDING * self.total[i, i]
        self.reach = limit + self.margin

    cdef void search(self, Py_ssize_t n, double[::1] errors) noexcept nogil:
        """Write the errors of the first n cuts, where they may be the best."""
        self.sides[:, :n] = NAN
        self.errors = errors
        if not self.bound(0, n - 1) > self.reach:
            self.look(0, n - 1)

    cdef void look(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Write the errors of the cuts from a to b, of which one may be the best."""
        cdef Py_ssize_t middle = (a + b) // 2
        cdef double low, high
        if a == b:
            self.errors[a] = self.bound(a, a)
            self.reach = min(self.reach, self.errors[a] + self.margin)
            return
        low, high = self.bound(a, middle), self.bound(middle + 1, b)
        # The half with the better bound first: what it finds may rule out the other.
        if high < low and not high > self.reach:
            self.look(middle + 1, b)
        if not low > self.reach:
            self.look(a, middle)
        if not high < low and not high > self.reach:
            self.look(middle + 1, b)

    cdef double bound(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """The least error that a cut from a to b may have."""
        return self.side(a, False) + self.side(b, True)

    cdef double side(self, Py_ssize_t cut, bint is_right) noexcept nogil:
        if isnan(self.sides[is_right, cut]):
            self.sides[is_right, cut] = model_error(
                self.products[cut], self.total, self.work, is_right, self.penalty, self.n_outputs)
        return self.sides[is_right, cut]


cdef Py_ssize_t choose_cuts(
        const double[::1] z, const int32_t[::1] order, Py_ssize_t n_cuts, Py_ssize_t least,
        int32_t[::1] n_left) noexcept nogil:
    """Write the cuts nearest to each quantile, below and above it, ascending; return how many."""
    cdef Py_ssize_t n = order.shape[0], i, n_found = 0, quantile = 1
    cdef int32_t below = 0      # the last cut that is not yet taken
    for i in range(least, n - least + 1):
        if i == n or not z[order[i - 1]] < z[order[i]]:
            continue
        if i < quantile * n // (n_cuts + 1):
            below = <int32_t>i
            continue
        # Of a large group of equal samples, in which the quantile lies, both ends are taken.
        if below > 0 and i > quantile * n // (n_cuts + 1):
            n_left[n_found] = below
            n_found += 1
        n_left[n_found] = <int32_t>i
        n_found += 1
        below = 0
        while quantile <= n_cuts and quantile * n // (n_cuts + 1) <= i:
            quantile += 1
        if quantile > n_cuts:
            return n_found
    if below > 0:
        n_left[n_found] = below
        n_found += 1
    return n_found


cdef void add_products(
        Matrix rows, const int32_t[::1] order, Py_ssize_t start, Py_ssize_t stop,
        double[:, ::1] block, double[:, ::1] products) noexcept nogil:
    """Add the products of the columns over some samples: the upper triangle, row by row."""
    cdef int d = <int>rows.shape[1], size = 0
    cdef double one = 1.0
    cdef Py_ssize_t i
    for i in range(start, stop):
        # Samples in the order of a feature lie anywhere in memory: BLAS needs them side by side.
        memcpy(&block[size, 0], &rows[order[i], 0], d * sizeof(double))
        size += 1
        if size == BLOCK or i == stop - 1:
            # By columns, as BLAS reads it, this is the lower triangle.
            dsyrk("L", "N", &d, &size, &one, &block[0, 0], &d, &one, &products[0, 0], &d)
            size = 0


cdef double model_error(
        Matrix left, Matrix total, double[:, ::1] work, bint is_right, double penalty,
        Py_ssize_t n_outputs) noexcept nogil:
    """The least penalised sum of squares of a linear model, from the products on one side.

    Gaussian elimination of the ones centers the products, and that of the features leaves those of
    the residuals: no equations have to be solved.
    """
    cdef Py_ssize_t d = left.shape[0], q = left.shape[0] - n_outputs, i, j
    cdef double error = 0.0
    for i in range(d):
        for j in range(i, d):
            work[i, j] = total[i, j] - left[i, j] if is_right else left[i, j]
        if 0 < i < q:
            work[i, i] += penalty
    # Rounding may leave less than nothing of a sum of squares that is much smaller than the total:
    # the feature then counts as constant.
    ngdt_eliminate(d, q, work.shape[1], &work[0, 0])
    for i in range(q, d):
        error += max(work[i, i], 0.0)
    return INFINITY if isnan(error) else error      # products may overflow


def variance_gains(
        Matrix Z not None, Order order not None, const double[:, :, ::1] deviations not None,
        const double[::1] weight not None, double total, Py_ssize_t least):
    """Decrease of the variance by the best split of each feature.

    Parameters
    ----------
    Z : ndarray of float64, shape (p, n)
        Values of each feature.
    order : ndarray of int32, shape (p, n)
        The samples by each feature, ascending.
    deviations : ndarray of float64, shape (n, n_groups, n_outputs)
        Weighted deviations of the targets from their means. The splits of a group of targets
        are found without the others.
    weight : ndarray of float64, shape (n,)
        Positive weights.
    total : float
        Sum of the weights.
    least : int
        Number of samples on each side, at least 1.

    Returns
    -------
    ndarray of shape (n_groups, p)
        Decrease of the sum of squared deviations; 0 without a split.
    """
    cdef:
        Py_ssize_t p = order.shape[0], n = order.shape[1]
        Py_ssize_t n_groups = deviations.shape[1], n_outputs = deviations.shape[2]
        double[:, ::1] gains = np.zeros((n_groups, p))
        double[:, ::1] sums = np.empty((n_groups, n_outputs))
        Py_ssize_t i, j, g, k
        double left, factor, squares
        int32_t sample
    with nogil:
        for j in range(p):
            left = 0.0
            sums[:] = 0.0
            for i in range(n - least):
                sample = order[j, i]
                left += weight[sample]
                for g in range(n_groups):
                    for k in range(n_outputs):
                        sums[g, k] += deviations[sample, g, k]
                if i + 1 < least or not Z[j, sample] < Z[j, order[j, i + 1]]:
                    continue
                # By rounding, nothing may be left of the total for a light right side.
                factor = 1.0 / left + 1.0 / max(total - left, DBL_MIN)
                for g in range(n_groups):
                    squares = 0.0
                    for k in range(n_outputs):
                        squares += sums[g, k] * sums[g, k]
                    gains[g, j] = max(gains[g, j], squares * factor)
    return np.asarray(gains)


def divide(Order order not None, const unsigned char[::1] is_right not None):
    """The sorted order of the samples on either side of a split.

    Parameters
    ----------
    order : ndarray of int32, shape (p, n)
    is_right : ndarray of uint8, shape (n,)

    Returns
    -------
    left, right : ndarray of int32, shape (p, n_left) and (p, n_right)
        Samples are numbered within their side.
    """
    cdef:
        Py_ssize_t p = order.shape[0], n = order.shape[1]
        Py_ssize_t n_right = np.count_nonzero(is_right)
        int32_t[:, ::1] left = np.empty((p, n - n_right), np.int32)
        int32_t[:, ::1] right = np.empty((p, n_right), np.int32)
        int32_t[::1] number = np.empty(n, np.int32)
        Py_ssize_t i, j, n_below, n_above
        int32_t sample
    with nogil:
        n_below = n_above = 0
        for i in range(n):
            if is_right[i]:
                number[i] = <int32_t>n_above
                n_above += 1
            else:
                number[i] = <int32_t>n_below
                n_below += 1
        for j in range(p):
            n_below = n_above = 0
            for i in range(n):
                sample = order[j, i]
                if is_right[sample]:
                    right[j, n_above] = number[sample]
                    n_above += 1
                else:
                    left[j, n_below] = number[sample]
                    n_below += 1
    return np.asarray(left), np.asarray(right)
