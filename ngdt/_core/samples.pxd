cimport cython
from libc.stdint cimport int32_t, int64_t

cdef extern from "dot.h" nogil:
    ctypedef double (*ngdt_dot)(
        const void *x, const int32_t *indices, Py_ssize_t n, const void *w) noexcept nogil
    ctypedef double (*ngdt_dot_sparse)(
        const void *x, const int32_t *indices, Py_ssize_t n, const double *w,
        const int32_t *columns, Py_ssize_t n_w) noexcept nogil
    double ngdt_dense_f64_f64(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    void ngdt_add_f64_f64(
        double a, const void *x, const int32_t *indices, Py_ssize_t n, double *w) noexcept
    void ngdt_axpy_f32(
        float a, const float *x, const int32_t *indices, Py_ssize_t n, float *w) noexcept
    void ngdt_scale_f32(float a, Py_ssize_t n, float *w) noexcept


cdef extern from "differ.h" nogil:
    void ngdt_prefetch_range(const void *start, const void *end) noexcept


cdef struct Sample:
    # One sample as the kernels see it: its stored values, their columns, and how to multiply.
    const void *values
    const int32_t *indices      # NULL for a dense sample
    Py_ssize_t n                # stored values
    double offset               # minus the constant feature of -1, shrunk with the sample
    ngdt_dot dot                # by dense weights
    ngdt_dot_sparse dot_sparse  # by sparse weights; NULL for sparse samples, unless from a Reader


cdef inline double dense_score(
    const Sample *x, const void *weights, double threshold
) noexcept nogil:
    # Score of a sample at a node with dense weights, of the type that x.dot takes.
    return x.dot(x.values, x.indices, x.n, weights) - x.offset * threshold


cdef class Samples:
    cdef readonly Py_ssize_t n_samples
    cdef readonly Py_ssize_t n_features
    cdef readonly Py_ssize_t max_stored     # stored values of the longest sample
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

    cdef inline Sample get(self, Py_ssize_t i) noexcept nogil:
        cdef Sample x
        cdef Py_ssize_t start
        if self.is_sparse:
            start = self._indptr[i]
            x.n = self._indptr[i + 1] - start
            x.indices = self._indices + start
        else:
            start = i * self.n_features
            x.n = self.n_features
            x.indices = NULL
        x.values = self._values + start * self._itemsize
        x.offset = 1.0
        x.dot = self._dot
        x.dot_sparse = self._dot_sparse
        return x

    cdef inline void prefetch(self, Py_ssize_t i) noexcept nogil:
        # Ask for a sample while another one is processed: hardware does not foresee the next one
        # where the order is any, and stops at the end of a page.
        cdef Sample x
        if i < self.n_samples:
            x = self.get(i)
            ngdt_prefetch_range(x.values, <const char *> x.values + x.n * self._itemsize)


@cython.final
cdef class Reader:
    cdef Samples data
    cdef bint reads_all         # whether decisions read all stored values of a sample
    cdef bint scatters
    cdef double[::1] scratch    # zero but where `written` has values
    cdef Sample written

    cdef Sample _scatter(self, Sample x) noexcept nogil

    cdef inline Sample get(self, Py_ssize_t i) noexcept nogil:
        # Valid until the next call.
        cdef Sample x = self.data.get(i)
        return self._scatter(x) if self.scatters else x

    cdef inline void prefetch(self, Py_ssize_t i) noexcept nogil:
        if self.reads_all:
            self.data.prefetch(i)


@cython.final
cdef class Standardizer:
    cdef Samples data
    cdef object _center, _inverse       # in the type of the data
    cdef const void *center
    cdef const void *inverse

    cdef void write(self, Py_ssize_t i, float *out) noexcept nogil


cdef Sample training_sample(
    const float *values, const int32_t *indices, Py_ssize_t n, double offset) noexcept nogil
cdef int check_ids(name, const int32_t[::1] ids, Py_ssize_t first, Py_ssize_t end) except -1
cdef void axpy(double a, const Sample *x, float *w) noexcept nogil
