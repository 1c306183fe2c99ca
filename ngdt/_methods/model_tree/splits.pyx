"""Axis-aligned splits that reduce the variance of targets most, of samples in sorted order."""

import numpy as np

from libc.float cimport DBL_MIN
from libc.stdint cimport int32_t

ctypedef const double[:, ::1] Matrix
ctypedef const int32_t[:, ::1] Order


def best_splits(
        Matrix Z not None, Order order not None, const double[:, :, ::1] deviations not None,
        const double[::1] weight not None, double total, Py_ssize_t least):
    """The split of each feature that reduces the variance most.

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
    gains : ndarray of float64, shape (n_groups, p)
        By how much each split reduces the sum of squared deviations; 0 without a split.
    n_left : ndarray of int32, shape (n_groups, p)
        Number of samples on the left of each split.
    """
    cdef:
        Py_ssize_t p = order.shape[0], n = order.shape[1]
        Py_ssize_t n_groups = deviations.shape[1], n_outputs = deviations.shape[2]
        double[:, ::1] gains = np.zeros((n_groups, p))
        int32_t[:, ::1] n_left = np.zeros((n_groups, p), np.int32)
        double[:, ::1] sums = np.empty((n_groups, n_outputs))
        Py_ssize_t i, j, g, k
        double left, factor, squares
        int32_t sample
    if Z.shape[0] != p or Z.shape[1] != n or deviations.shape[0] != n or weight.shape[0] != n:
        raise ValueError(f"Z, deviations and weight are not for {n} samples of {p} features")
    if least < 1:
        raise ValueError(f"least must be at least 1, got {least}")
    # The samples in `order` are not checked: they come from a sort, and checks would cost as much.
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
                factor = 1.0 / left + 1.0 / max(total - left, DBL_MIN)
                for g in range(n_groups):
                    squares = 0.0
                    for k in range(n_outputs):
                        squares += sums[g, k] * sums[g, k]
                    if squares * factor > gains[g, j]:
                        gains[g, j] = squares * factor
                        n_left[g, j] = <int32_t>(i + 1)
    return np.asarray(gains), np.asarray(n_left)


def divide(Order order not None, const unsigned char[::1] is_right not None):
    """The sorted order of the samples on either side of a split.

    Parameters
    ----------
    order : ndarray of int32, shape (p, n)
    is_right : ndarray of uint8, shape (n,)

    Returns
    -------
    left, right : ndarray of int32, shape (p, n_left) and (p, n_right)
        Samples are numbered among those of their side.
    """
    cdef:
        Py_ssize_t p = order.shape[0], n = order.shape[1]
        Py_ssize_t n_right = np.count_nonzero(is_right)
        int32_t[:, ::1] left = np.empty((p, n - n_right), np.int32)
        int32_t[:, ::1] right = np.empty((p, n_right), np.int32)
        int32_t[::1] number = np.empty(n, np.int32)
        Py_ssize_t i, j, n_below, n_above
        int32_t sample
    if is_right.shape[0] != n:
        raise ValueError(f"is_right has {is_right.shape[0]} entries for {n} samples")
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
