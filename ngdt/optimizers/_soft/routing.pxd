from libc.stdint cimport int32_t

from ngdt._inference cimport Topology
from ngdt._samples cimport Sample, Samples, Standardizer


cdef class LeafModel:
    # p(y | leaf), and the running means from which it is fitted.
    cdef readonly int n_leaves
    cdef readonly object parameters
    cdef float[:, ::1] _parameters
    cdef float[:, ::1] _mean            # responsibility per sample, times what it is summed with
    cdef double prior_weight

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil
    cdef void density(
        self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil
    cdef void collect(
        self, int leaf, const int32_t *slots, int first, int n, const float *share) noexcept nogil
    cdef void begin(self, int leaf) noexcept nogil
    cdef void blend(self, int leaf, double weight, double total) noexcept nogil
    cdef void fit(self, int leaf) noexcept nogil


cdef class Routing:
    # Soft routing of a mini-batch down a tree, and the way back up.
    cdef Topology topology
    cdef LeafModel model
    cdef Samples rows
    cdef readonly Py_ssize_t n_features
    cdef readonly int batch_size
    cdef float[:, ::1] weights          # n_features + 1 columns, the last meets the constant 1
    cdef Standardizer standardizer

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil
    cdef void forward(self, int first, int n, float gamma, float *value) noexcept nogil
    cdef void backward(self, int first, int n, float gamma, const float *grad_output) noexcept nogil
    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil
    cdef void collect(self, int leaf, int n) noexcept nogil
