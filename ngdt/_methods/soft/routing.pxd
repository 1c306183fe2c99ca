from ngdt._core.samples cimport Sample, Samples, Standardizer
from ngdt._core.search cimport Topology
from ngdt._methods.soft.leaf_model cimport LeafModel

cdef enum:
    CHUNK = 128     # samples that are routed together: they fit the cache, and fill BLAS


cdef class Routing:
    # Soft routing of a mini-batch down a tree, and the way back up.
    cdef Topology topology
    cdef LeafModel model
    cdef Samples data
    cdef readonly Py_ssize_t n_features
    cdef readonly int batch_size
    cdef float[:, ::1] weights          # the last one of a node meets the constant feature 1
    cdef Standardizer standardizer
    # By slot: stored values, scaled, and the sample that they make.
    cdef float[:, ::1] x
    cdef object _samples
    cdef Sample *samples

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil
    cdef void mix(self, int slot, Py_ssize_t other, float share, float *scaled) noexcept nogil
    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil
    cdef void backward(self, int first, int n, float gamma, const float *grad_output) noexcept nogil
    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil
    cdef void accumulate_leaves(self, int first, int n_leaves, int n) noexcept nogil


cdef class DenseRouting(Routing):
    # All nodes for all samples.
    cdef int stride             # of a row: the batch size in whole vectors
    cdef float[:, ::1] p        # (n_internal, stride): scores, then probabilities to go right
    cdef float[:, ::1] state    # (nodes and leaves, stride): V; then M and gradients

    cdef void score(self, int first, int n) noexcept nogil


cdef class CSRRouting(DenseRouting):
    cdef float[:, ::1] row          # (batch_size, n_internal): scores, then gradients in them
