"""Access of the kernels to the samples of a matrix.

Kernels see a sample as a `Sample`: a pointer to its values, their columns, their number, and the
functions that multiply it with weights. Which functions these are (dense or sparse, float32 or
float64) is decided here, once per matrix. Dense samples are rows of a C-contiguous matrix; sparse
ones are rows of a CSR matrix with ascending columns. Data are not copied.

`Samples` is read-only after its construction, so any number of threads may share one. A `Reader`
has a buffer of its own: one per thread. A product costs the stored values of the sample, or the
nonzeros of the weights.
"""

import numpy as np
from scipy import sparse

from ngdt._util.validation import canonical_csr, check_csr

cimport cython
from libc.stdint cimport uintptr_t

cdef extern from "dot.h" nogil:
    double ngdt_dense_f32_f64(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_dense_f32_f32(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_sparse_f32_f64(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_sparse_f64_f64(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    double ngdt_sparse_f32_f32(const void *, const int32_t *, Py_ssize_t, const void *) noexcept
    ngdt_dot_sparse ngdt_dense_f32_sparse, ngdt_dense_f64_sparse
    ngdt_dot_sparse ngdt_scattered_sparse
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
        float32 or float64. The buffers are used in place. Only where columns of a sparse row
        repeat or do not ascend, those of a copy are.
    """

    def __init__(self, X):
        if sparse.issparse(X):
            self._init_sparse(X)
        else:
            self._init_dense(X)

    def _init_dense(self, X):
        if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.flags.c_contiguous):
            raise TypeError(
                f"X must be a C-contiguous 2-d array or a CSR matrix, got {_described(X)}")
        self._check_dtype(X.dtype)
        self._owner = X
        self.n_samples, self.n_features = X.shape
        self.max_stored = self.mean_stored = self.n_features
        self.is_sparse = False
        # An address and a size: a memoryview would fix the type of the values.
        self._values = <const char *> <uintptr_t> X.ctypes.data
        self._indices = NULL
        # Chosen once, so that no loop over samples asks for the type.
        self._dot = ngdt_dense_f32_f64 if self.is_float32 else ngdt_dense_f64_f64
        self._dot_sparse = ngdt_dense_f32_sparse if self.is_float32 else ngdt_dense_f64_sparse

    def _init_sparse(self, X):
        if X.format != "csr":
            raise TypeError(f"X must be in CSR format when sparse, got {X.format}")
        self._check_dtype(X.dtype)
        if X.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"X must have columns that 32 bits count, got {X.shape[1]}")
        if X.indices.dtype != np.int32:
            check_csr("X", X)       # before the columns are converted: what is out of range wraps
        indptr, indices, data = self._owner = _csr_arrays(X)
        if not _is_canonical(indptr, indices, len(data), X.shape[0], X.shape[1]):
            indptr, indices, data = self._owner = _csr_arrays(canonical_csr(X))
        self.n_samples, self.n_features = X.shape
        self._indptr = indptr
        # The room that a sample takes in the slot of a mini-batch.
        self.max_stored = np.diff(self._indptr).max(initial=0)
        self.mean_stored = <double> self._indptr[self.n_samples] / max(self.n_samples, 1)
        self.is_sparse = True
        self._values = <const char *> <uintptr_t> data.ctypes.data
        self._indices = <const int32_t *> <uintptr_t> indices.ctypes.data
        self._dot = ngdt_sparse_f32_f64 if self.is_float32 else ngdt_sparse_f64_f64
        self._dot_sparse = NULL     # a Reader writes the sample out first

    def _check_dtype(self, dtype):
        if dtype not in (np.float32, np.float64):
            raise TypeError(f"X must be float32 or float64, got {dtype}")
        self.is_float32 = dtype == np.float32
        self._itemsize = dtype.itemsize

    def project(self, const int32_t[::1] samples, const double[::1] weights):
        """Product of the given samples with a weight vector, as a split computes it."""
        if weights.shape[0] != self.n_features:
            raise ValueError(f"weights has {weights.shape[0]} entries for {self.n_features}")
        # The loop below does not check them.
        check_ids("samples", samples, 0, self.n_samples)
        out = np.empty(samples.shape[0])
        cdef double[::1] z = out
        cdef Py_ssize_t i
        cdef Sample x
        with nogil:
            for i in range(samples.shape[0]):
                # Samples of a node lie anywhere in memory: hardware cannot foresee the next one.
                if i + 1 < samples.shape[0]:
                    self.prefetch(samples[i + 1])
                x = self.get(samples[i])
                z[i] = x.dot(x.values, x.indices, x.n, &weights[0])
        return out


def _described(X):
    """Description of what is given instead of rows, and of how to convert it."""
    if not isinstance(X, np.ndarray):
        return f"{type(X).__name__}: only estimators with check_input=True convert it"
    if X.ndim != 2:
        return f"an array of shape {X.shape}: one sample is X.reshape(1, -1)"
    return f"another one of shape {X.shape}: numpy.ascontiguousarray(X) converts it"


def _csr_arrays(X):
    """Row ends, columns and values in the types of the kernels."""
    return (np.ascontiguousarray(X.indptr, dtype=np.int64),
            np.ascontiguousarray(X.indices, dtype=np.int32), np.ascontiguousarray(X.data))


cdef bint _is_canonical(
    const int64_t[::1] ends, const int32_t[::1] columns, Py_ssize_t n_values, Py_ssize_t n,
    Py_ssize_t p
) noexcept nogil:
    """Tell whether these are the arrays of a CSR matrix with ascending, distinct columns.

    scipy's own flag does not notice when the arrays of a matrix are changed.
    """
    cdef Py_ssize_t i, j, first, last, n_stored = min(columns.shape[0], n_values)
    cdef bint fits
    if ends.shape[0] != n + 1 or ends[0] != 0:
        return False
    for i in range(n):
        if not ends[i] <= ends[i + 1] <= n_stored:
            return False
        first, last = ends[i], ends[i + 1] - 1
        if last < first:
            continue
        # The first column is the lowest and the last one the highest if all ascend.
        fits = (columns[first] >= 0) & (columns[last] < p)
        # `&` instead of `and`: no branch for each value.
        for j in range(first, last):
            fits &= columns[j] < columns[j + 1]
        if not fits:
            return False
    return True


cdef int check_ids(name, const int32_t[::1] ids, Py_ssize_t first, Py_ssize_t end) except -1:
    """Raise a ValueError unless first <= id < end for all ids, which kernels index arrays with."""
    cdef bint fits = True
    cdef Py_ssize_t i
    for i in range(ids.shape[0]):
        # All of them without a branch; which one is at fault is looked for only if one is.
        fits &= (ids[i] >= first) & (ids[i] < end)
    if not fits:
        low, high = np.min(ids), np.max(ids)
        raise ValueError(
            f"{name} must lie in {first}..{end - 1}, got values from {low} to {high}")
    return 0


@cython.final
cdef class Reader:
    """Reads one sample after the other, in the form that suits the weights.

    A sparse sample that meets sparse weights is written out once, as a dense vector: each node of
    its path then finds the values of its nonzeros by their columns, without a search.

    Parameters
    ----------
    data : Samples
    sparse_weights : bool
    """

    def __init__(self, Samples data, bint sparse_weights):
        self.data = data
        # Sparse weights need few values of a dense sample, and it would be a waste to fetch it
        # all; a sparse sample is written out, so all of it is read.
        self.reads_all = data.is_sparse or not sparse_weights
        self.scatters = data.is_sparse and sparse_weights
        self.scratch = np.zeros(data.n_features if self.scatters else 0)
        self.written.n = 0

    cdef Sample _scatter(self, Sample x) noexcept nogil:
        cdef Py_ssize_t j
        # Only what the sample before has written: rows may be much longer than samples.
        for j in range(self.written.n):
            self.scratch[self.written.indices[j]] = 0.0
        self.written = x
        if self.data.is_float32:
            for j in range(x.n):
                self.scratch[x.indices[j]] = (<const float *> x.values)[j]
        else:
            for j in range(x.n):
                self.scratch[x.indices[j]] = (<const double *> x.values)[j]
        # The columns of the sample stay: the next call clears by them.
        x.values = &self.scratch[0]
        x.dot_sparse = ngdt_scattered_sparse
        return x


@cython.final
cdef class Standardizer:
    """Samples as training sees them: standardised, in float32.

    Parameters
    ----------
    data : Samples
    scaling : Scaling
    """

    def __init__(self, Samples data, scaling):
        self.data = data
        # In the type of the data, so that a float64 feature far from zero keeps its digits when
        # the mean is subtracted; only the difference is rounded to float32.
        dtype = np.float32 if data.is_float32 else np.float64
        self._center = np.ascontiguousarray(scaling.center, dtype=dtype)
        # Inverted once: kernels multiply, which is faster than to divide.
        self._inverse = np.ascontiguousarray(1.0 / scaling.scale, dtype=dtype)
        self.center = <const void *> <uintptr_t> self._center.ctypes.data
        self.inverse = <const void *> <uintptr_t> self._inverse.ctypes.data

    cdef void write(self, Py_ssize_t i, float *out) noexcept nogil:
        """Write sample i. The stored values of a sparse one are scaled, never centred."""
        cdef Sample x = self.data.get(i)
        cdef Py_ssize_t j
        if x.indices == NULL:
            if self.data.is_float32:
                ngdt_standardize_f32(
                    <const float *> x.values, <const float *> self.center,
                    <const float *> self.inverse, x.n, out)
            else:
                ngdt_standardize_f64(
                    <const double *> x.values, <const double *> self.center,
                    <const double *> self.inverse, x.n, out)
        # To subtract the mean would make nonzeros of all values that are not stored.
        elif self.data.is_float32:
            for j in range(x.n):
                out[j] = (<const float *> x.values)[j] * (
                    <const float *> self.inverse)[x.indices[j]]
        else:
            for j in range(x.n):
                out[j] = <float> ((<const double *> x.values)[j] * (
                    <const double *> self.inverse)[x.indices[j]])


cdef Sample training_sample(
    const float *values, const int32_t *indices, Py_ssize_t n, double offset
) noexcept nogil:
    """A standardised float32 sample, to be multiplied with float32 weights."""
    cdef Sample x
    x.values = values
    x.indices = indices
    x.n = n
    x.offset = offset
    x.dot = ngdt_dense_f32_f32 if indices == NULL else ngdt_sparse_f32_f32
    x.dot_sparse = NULL       # weights in training are dense
    return x


cdef void axpy(double a, const Sample *x, float *w) noexcept nogil:
    """w += a * x, for a training sample."""
    ngdt_axpy_f32(<float> a, <const float *> x.values, x.indices, x.n, w)
