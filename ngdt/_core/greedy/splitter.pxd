from libc.stdint cimport int32_t

from ngdt._core.greedy.columns cimport BinnedColumns
from ngdt._core.greedy.criterion cimport Criterion, Cut
from ngdt._core.greedy.moves cimport MoveList
from ngdt._core.samples cimport Samples


cdef inline double midpoint(double low, double high) noexcept nogil:
    # The middle of low < high, such that low <= middle < high also after rounding.
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


cdef class Splitter:
    cdef readonly Py_ssize_t n_features
    cdef Samples data
    cdef BinnedColumns columns
    cdef Criterion criterion
    cdef object _used
    cdef const unsigned char[::1] _is_used
    # The best cut of every feature
    cdef double[::1] _gain
    cdef double[::1] _low
    cdef double[::1] _high
    cdef unsigned char[::1] _by_count   # low and high are grid points
    cdef int _n_tags                  # of the criterion, for values counted by grid point
    cdef MoveList _moves
    cdef int32_t[::1] _right

    cdef Py_ssize_t check_samples(self, const int32_t[::1] samples) except -1
    cdef void limit(self, Py_ssize_t min_samples_leaf) noexcept
    cdef Cut cut_at(self, const double *z, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t _search(self, const int32_t *samples, Py_ssize_t n) noexcept nogil
    cdef double _threshold(
        self, const int32_t *samples, Py_ssize_t n, Py_ssize_t feature) noexcept nogil
