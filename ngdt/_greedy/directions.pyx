"""Search for the best of several oblique splits of a node."""

import numpy as np

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t

from ngdt._greedy.criterion cimport Cut
from ngdt._greedy.splitter cimport Splitter
from ngdt._samples cimport Sample

# Relative difference below which two gains are equal: the order of summation changes the last
# digits.
ROUNDING = 1e-9


def best_direction(
    Splitter splitter, const int32_t[::1] samples, const int32_t[:, ::1] features,
    const double[:, ::1] weights, Py_ssize_t min_samples_leaf=1
):
    """Index of the weight vector whose best threshold has the largest gain, or -1.

    For each vector, the samples are projected on it, sorted, and gone through by the criterion of
    the splitter.

    Parameters
    ----------
    splitter : Splitter
        Its lists are written to: not to be used by several threads at once.
    samples : ndarray of int32
        Samples of the node, each with a positive weight.
    features : ndarray of int32, shape (n_directions, n_nonzero)
        Features of each vector. With as many as X has, they must be all, in their order.
    weights : ndarray of float64, shape (n_directions, n_nonzero)
    min_samples_leaf : int, default=1
        Least number of samples on either side, whatever their weights.

    Returns
    -------
    int
        Of vectors whose gains differ by rounding only, the first. -1 if the node is pure or no
        threshold leaves `min_samples_leaf` on both sides.
    """
    cdef Py_ssize_t n = splitter._check_samples(samples), k = weights.shape[1], i, best = -1
    cdef double gain = -INFINITY, rounding = ROUNDING
    cdef Cut cut
    if features.shape[0] != weights.shape[0] or features.shape[1] != k:
        raise ValueError("features and weights must have the same shape")
    for i in range(features.shape[0] * k):
        if not 0 <= features[i // k, i % k] < splitter.n_features:
            raise ValueError(f"features must be some of 0 to {splitter.n_features - 1}")
    if k == 0:
        raise ValueError("a direction must have features")
    if n < 2:
        return -1
    cdef double[::1] z = np.empty(n)
    splitter._limit(min_samples_leaf)
    with nogil:
        if splitter._criterion.start(&samples[0], n):
            for i in range(weights.shape[0]):
                _project(splitter, &samples[0], n, &features[i, 0], &weights[i, 0], k, &z[0])
                splitter._moves.list_all(&z[0], n, splitter._criterion)
                cut = splitter._criterion.scan(&splitter._moves.moves)
                if cut.gain > -INFINITY and (best < 0 or cut.gain > gain + rounding * fabs(gain)):
                    best, gain = i, cut.gain
    return best


cdef void _project(
    Splitter splitter, const int32_t *samples, Py_ssize_t n, const int32_t *features,
    const double *weights, Py_ssize_t n_nonzero, double *z
) noexcept nogil:
    """Products of samples with a weight vector."""
    cdef Py_ssize_t i, k
    cdef Sample x
    if n_nonzero == splitter.n_features:
        for i in range(n):
            x = splitter._data.get(samples[i])
            z[i] = x.dot(x.values, x.indices, x.n, weights)
        return
    for i in range(n):
        z[i] = 0.0
        for k in range(n_nonzero):
            z[i] += weights[k] * splitter._columns.get(samples[i], features[k])
