from libc.stdint cimport int32_t, uint64_t

from ngdt._greedy.columns cimport Columns, Feature, count_t
from ngdt._greedy.criterion cimport Criterion, Moves
from ngdt._samples cimport Samples


cdef class Splitter:
    cdef readonly Py_ssize_t n_features
    cdef readonly object weight
    cdef Samples _rows
    cdef Columns _columns
    cdef Criterion _criterion
    cdef object _used
    # The best cut of every feature
    cdef double[::1] _gain
    cdef double[::1] _low
    cdef double[::1] _high
    cdef unsigned char[::1] _by_count   # low and high are grid points
    # Samples in the order of one feature
    cdef uint64_t[::1] _order
    cdef uint64_t[::1] _scratch
    cdef Moves _moves
    cdef object _buffers
    cdef int32_t[::1] _right

    cdef Py_ssize_t _check_rows(self, int32_t[::1] rows) except -1
    cdef Py_ssize_t _search(self, const int32_t *rows, Py_ssize_t n) noexcept nogil
    cdef double _threshold(
        self, const int32_t *rows, Py_ssize_t n, Py_ssize_t feature) noexcept nogil
    cdef void _list_counted(
        self, count_t *cells, Py_ssize_t j, const Feature *feature, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t _list(
        self, Py_ssize_t m, double z, Py_ssize_t item, double amount) noexcept nogil
    cdef void _list_sorted(self, Py_ssize_t j, const Feature *feature, Py_ssize_t n) noexcept nogil
