"""The one door from user data to the kernels.

Everything below this module sees a sample as a `Sample`: pointer, columns, length, dot function. Dense
or sparse, float32 or float64 is decided here, once per matrix, and data are never copied.
"""

import numpy as np
from scipy import sparse

from ngdt._validation import check_csr

cimport cython

cdef extern from "dot.h" nogil:
    double ngdt_dense_f32_f64(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_dense_f64_f64(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_dense_f32_f32(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_sparse_f32_f64(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_sparse_f64_f64(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_sparse_f32_f32(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    ngdt_dot_sparse ngdt_dense_f32_sparse, ngdt_dense_f64_sparse
    ngdt_dot_sparse ngdt_sparse_f32_sparse, ngdt_sparse_f64_sparse
    ngdt_dot_sparse ngdt_scattered_sparse
    void ngdt_axpy_f32(
        float a, const float *x, const int32_t *indices, Py_ssize_t n, float *w) noexcept
    void ngdt_standardize_f32(
        const float *x, const float *center, const float *inverse, Py_ssize_t n,
        float *out) noexcept
    void ngdt_standardize_f64(
        const double *x, const double *center, const double *inverse, Py_ssize_t n,
        float *out) noexcept


cdef class Samples:
    """Read access to the samples of a matrix.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), C-contiguous, or CSR matrix or array
        float32 or float64. The buffers are used in place.
    """

    def __init__(self, X):
        if sparse.issparse(X):
            self._init_sparse(X)
        else:
            self._init_dense(X)

    def _init_dense(self, X):
        if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.flags.c_contiguous):
            raise TypeError("X must be a C-contiguous 2-d array or a CSR matrix")
        self._check_dtype(X.dtype)
        self._owner = X
        self.n_samples, self.n_features = X.shape
        self.max_stored = self.mean_stored = self.n_features
        self.is_sparse = False
        cdef Py_ssize_t address = X.ctypes.data
        self._values = <const char *> address
        self._indices = NULL
        self._dot = ngdt_dense_f32_f64 if self.is_float32 else ngdt_dense_f64_f64
        self._dot_sparse = ngdt_dense_f32_sparse if self.is_float32 else ngdt_dense_f64_sparse

    def _init_sparse(self, X):
        if X.format != "csr":
            raise TypeError(f"X must be in CSR format when sparse, got {X.format}")
        self._check_dtype(X.dtype)
        check_csr("X", X)
        # The kernels index columns with 32 bits; a 64-bit index array is the one thing converted.
        indices = np.ascontiguousarray(X.indices, dtype=np.int32)
        data = np.ascontiguousarray(X.data)
        self._owner = (X, indices, data)
        self.n_samples, self.n_features = X.shape
        self._indptr = np.ascontiguousarray(X.indptr, dtype=np.int64)
        self.max_stored = np.diff(self._indptr).max(initial=0)
        self.mean_stored = <double> self._indptr[self.n_samples] / max(self.n_samples, 1)
        self.is_sparse = True
        cdef Py_ssize_t address = data.ctypes.data
        self._values = <const char *> address
        address = indices.ctypes.data
        self._indices = <const int32_t *> address
        self._dot = ngdt_sparse_f32_f64 if self.is_float32 else ngdt_sparse_f64_f64
        self._dot_sparse = ngdt_sparse_f32_sparse if self.is_float32 else ngdt_sparse_f64_sparse

    def _check_dtype(self, dtype):
        if dtype not in (np.float32, np.float64):
            raise TypeError(f"X must be float32 or float64, got {dtype}")
        self.is_float32 = dtype == np.float32
        self._itemsize = dtype.itemsize

    cdef bint columns_ascend(self) noexcept nogil:
        """Whether the columns of each sparse row ascend without repetition."""
        cdef Py_ssize_t i, j
        if not self._ascent_known:
            self._ascent_known = self._ascends = True
            for i in range(self.n_samples):
                for j in range(self._indptr[i] + 1, self._indptr[i + 1]):
                    self._ascends &= self._indices[j] > self._indices[j - 1]
        return self._ascends

    def project(self, const int32_t[::1] samples, const double[::1] weights):
        """Product of the given samples with one row of weights, as a split computes it."""
        if weights.shape[0] != self.n_features:
            raise ValueError(f"weights has {weights.shape[0]} entries for {self.n_features}")
        out = np.empty(samples.shape[0])
        cdef double[::1] z = out
        cdef Py_ssize_t i
        cdef Sample row
        with nogil:
            for i in range(samples.shape[0]):
                if i + 1 < samples.shape[0]:
                    self.prefetch_all(samples[i + 1])
                row = self.get(samples[i])
                z[i] = row.dot(row.values, row.indices, row.n, &weights[0])
        return out


@cython.final
cdef class Reader:
    """Takes up one sample after the other, in the form that suits the weights.

    A CSR row that meets sparse weights at every node of a path is written out once: the nonzeros of
    a node then find their values where they are, which is several times faster than to look for
    them. Samples whose columns repeat or do not ascend stay as they are, since the order of their sums
    would change.

    Parameters
    ----------
    rows : Samples
    sparse_weights : bool
    """

    def __init__(self, Samples rows, bint sparse_weights):
        self.rows = rows
        self.reads_all = rows.is_sparse or not sparse_weights
        self.scatters = rows.is_sparse and sparse_weights and rows.columns_ascend()
        self.scratch = np.zeros(rows.n_features if self.scatters else 0)
        self.written.n = 0

    cdef Sample _scatter(self, Sample row) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.written.n):
            self.scratch[self.written.indices[j]] = 0.0
        self.written = row
        if self.rows.is_float32:
            for j in range(row.n):
                self.scratch[row.indices[j]] = (<const float *> row.values)[j]
        else:
            for j in range(row.n):
                self.scratch[row.indices[j]] = (<const double *> row.values)[j]
        row.values = &self.scratch[0]
        row.dot_sparse = ngdt_scattered_sparse
        return row


@cython.final
cdef class Standardizer:
    """Samples as training sees them: standardised, in float32.

    Parameters
    ----------
    rows : Samples
    scaling : Scaling
    """

    def __init__(self, Samples rows, scaling):
        self.rows = rows
        dtype = np.float32 if rows.is_float32 else np.float64
        self._center = np.ascontiguousarray(scaling.center, dtype=dtype)
        self._inverse = np.ascontiguousarray(1.0 / scaling.scale, dtype=dtype)
        cdef Py_ssize_t address = self._center.ctypes.data
        self.center = <const void *> address
        address = self._inverse.ctypes.data
        self.inverse = <const void *> address

    cdef void write(self, Py_ssize_t i, float *out) noexcept nogil:
        """Write row i. The stored values of a sparse row are scaled, never centred."""
        cdef Sample row = self.rows.get(i)
        cdef Py_ssize_t j
        if row.indices == NULL:
            if self.rows.is_float32:
                ngdt_standardize_f32(
                    <const float *> row.values, <const float *> self.center,
                    <const float *> self.inverse, row.n, out)
            else:
                ngdt_standardize_f64(
                    <const double *> row.values, <const double *> self.center,
                    <const double *> self.inverse, row.n, out)
        elif self.rows.is_float32:
            for j in range(row.n):
                out[j] = (<const float *> row.values)[j] * (
                    <const float *> self.inverse)[row.indices[j]]
        else:
            for j in range(row.n):
                out[j] = <float> ((<const double *> row.values)[j] * (
                    <const double *> self.inverse)[row.indices[j]])


cdef Sample training_row(
    const float *values, const int32_t *indices, Py_ssize_t n, double offset
) noexcept nogil:
    """A standardised float32 row, to be multiplied with float32 weights."""
    cdef Sample row
    row.values = values
    row.indices = indices
    row.n = n
    row.offset = offset
    row.dot = ngdt_dense_f32_f32 if indices == NULL else ngdt_sparse_f32_f32
    row.dot_sparse = NULL       # weights in training are dense
    return row


cdef void axpy(double a, const Sample *row, float *w) noexcept nogil:
    """w += a * row, for a training row."""
    ngdt_axpy_f32(<float> a, <const float *> row.values, row.indices, row.n, w)
