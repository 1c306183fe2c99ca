cimport cython
from libc.stdint cimport int32_t, int64_t

cdef extern from "dot.h" nogil:
    ctypedef double (*ngdt_dot)(
        const void *x, const int32_t *indices, Py_ssize_t n, const void *w) noexcept nogil
    ctypedef double (*ngdt_dot_sparse)(
        const void *x, const int32_t *indices, Py_ssize_t n, const double *w,
        const int32_t *columns, Py_ssize_t n_w) noexcept nogil
    void ngdt_prefetch(const char *address) noexcept


cdef extern from "differ.h" nogil:
    void ngdt_prefetch_range(const void *start, const void *end) noexcept


cdef struct Sample:
    # One sample as the kernels see it: its stored values, their columns, and how to multiply.
    const void *values
    const int32_t *indices      # NULL for a dense row
    Py_ssize_t n                # stored values
    double offset               # value of the constant feature that meets the threshold
    ngdt_dot dot                # by dense weights
    ngdt_dot_sparse dot_sparse  # by sparse weights


cdef class Samples:
    cdef readonly Py_ssize_t n_samples
    cdef readonly Py_ssize_t n_features
    cdef readonly Py_ssize_t max_stored     # values of the longest row
    cdef readonly double mean_stored
    cdef readonly bint is_sparse
    cdef readonly bint is_float32
    cdef object _owner                      # keeps the buffers alive
    cdef const char *_values
    cdef Py_ssize_t _itemsize
    cdef const int32_t *_indices
    cdef const int64_t[::1] _indptr
    cdef ngdt_dot _dot
    cdef ngdt_dot_sparse _dot_sparse
    cdef bint _ascent_known, _ascends       # looked for when first asked

    cdef inline Sample get(self, Py_ssize_t i) noexcept nogil:
        cdef Sample row
        cdef Py_ssize_t start
        if self.is_sparse:
            start = self._indptr[i]
            row.n = self._indptr[i + 1] - start
            row.indices = self._indices + start
        else:
            start = i * self.n_features
            row.n = self.n_features
            row.indices = NULL
        row.values = self._values + start * self._itemsize
        row.offset = 1.0
        row.dot = self._dot
        row.dot_sparse = self._dot_sparse
        return row

    cdef inline void prefetch(self, Py_ssize_t i) noexcept nogil:
        # Mini-batches visit rows at random: ask for the first cache lines while another row is
        # at work, and the hardware follows.
        cdef Py_ssize_t start = self._indptr[i] if self.is_sparse else i * self.n_features
        ngdt_prefetch(self._values + start * self._itemsize)

    cdef inline void prefetch_all(self, Py_ssize_t i) noexcept nogil:
        # For those that read row after row: the hardware stops at the end of each page.
        cdef Sample row
        if i < self.n_samples:
            row = self.get(i)
            ngdt_prefetch_range(row.values, <const char *> row.values + row.n * self._itemsize)

    cdef bint columns_ascend(self) noexcept nogil


@cython.final
cdef class Reader:
    cdef Samples rows
    cdef bint reads_all         # whether decisions look at all stored values of a row
    cdef bint scatters
    cdef double[::1] scratch    # zero but where `written` has values
    cdef Sample written

    cdef Sample _scatter(self, Sample row) noexcept nogil

    cdef inline Sample get(self, Py_ssize_t i) noexcept nogil:
        # The row is good until the next call.
        cdef Sample row = self.rows.get(i)
        return self._scatter(row) if self.scatters else row

    cdef inline void prefetch(self, Py_ssize_t i) noexcept nogil:
        if self.reads_all:
            self.rows.prefetch_all(i)


@cython.final
cdef class Standardizer:
    cdef Samples rows
    cdef object _center, _inverse       # in the type of the data
    cdef const void *center
    cdef const void *inverse

    cdef void write(self, Py_ssize_t i, float *out) noexcept nogil


cdef Sample training_row(
    const float *values, const int32_t *indices, Py_ssize_t n, double offset) noexcept nogil
cdef void axpy(double a, const Sample *row, float *w) noexcept nogil
