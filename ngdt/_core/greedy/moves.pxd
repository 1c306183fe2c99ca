cimport cython
from libc.stdint cimport int32_t, uint64_t

from ngdt._core.greedy.columns cimport BinnedColumns, Feature, count_t
from ngdt._core.greedy.criterion cimport Criterion, Moves


@cython.final
cdef class MoveList:
    cdef Moves moves
    cdef Py_ssize_t min_samples_leaf    # least number of samples on either side of a threshold
    cdef double sample_weight   # of each sample; NaN if they differ, and then nothing is counted
    cdef uint64_t[::1] order    # as `sort` leaves it
    cdef uint64_t[::1] _scratch
    cdef object _buffers

    cdef inline Py_ssize_t put(
        self, Py_ssize_t m, double z, Py_ssize_t item, double amount
    ) noexcept nogil:
        """Write move m; return the number of the next."""
        self.moves.z[m] = z
        self.moves.item[m] = <int32_t> item
        self.moves.amount[m] = amount
        return m + 1

    cdef void sort(self, const double *z, Py_ssize_t n) noexcept nogil
    cdef void list_all(self, const double *z, Py_ssize_t n, Criterion criterion) noexcept nogil
    cdef void list_feature(
        self, BinnedColumns columns, Py_ssize_t j, const Feature *feature, Py_ssize_t n,
        Criterion criterion) noexcept nogil
    cdef void _set_range(self, Py_ssize_t n_rest, bint counted) noexcept nogil
    cdef void _list_counted(
        self, count_t *cells, BinnedColumns columns, Py_ssize_t j, const Feature *feature,
        Py_ssize_t n, Py_ssize_t n_tags) noexcept nogil
    cdef void _list_sorted(
        self, BinnedColumns columns, Py_ssize_t j, const Feature *feature, Py_ssize_t n,
        Criterion criterion) noexcept nogil
