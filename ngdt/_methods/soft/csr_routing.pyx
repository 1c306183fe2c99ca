"""Soft routing of sparse samples through all nodes."""

import numpy as np

from libc.stdint cimport uintptr_t
from libc.string cimport memcpy

from ngdt._core.search cimport Topology
from ngdt._core.samples cimport Sample, Samples, training_sample
from ngdt._methods.soft.leaf_model cimport LeafModel
from ngdt._methods.soft.routing cimport DenseRouting

cdef extern from "dot.h" nogil:
    void ngdt_axpy_f32(
        float a, const float *x, const int *indices, Py_ssize_t n, float *w) noexcept


cdef class CSRRouting(DenseRouting):
    """All nodes for all samples, by the stored values of CSR rows.

    A stored value is multiplied with the weights of its feature in all nodes, which lie side by
    side. The gradient in the scores of a slot lies likewise, in its `row`; `LazyTrainer` multiplies
    it with the sample. Leaves must be constant.

    Parameters
    ----------
    weights : ndarray of float32, shape (n_features + 1, n_internal)
        By features; others as for `Routing`.
    """

    def __init__(
            self, Topology topology, weights, LeafModel model, Samples data, scaling, batch_size):
        super().__init__(
            topology, np.empty((0, 0), dtype=np.float32), model, data, scaling, batch_size)
        self.by_feature = weights
        self.row = np.empty((batch_size, topology.n_internal), dtype=np.float32)
        self._samples = np.zeros(batch_size * sizeof(Sample), dtype=np.uint8)
        self.samples = <Sample *> <uintptr_t> self._samples.ctypes.data

    def _shape_of_samples(self):
        return self.batch_size, max(1, self.data.max_stored)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        cdef Sample x = self.data.get(sample)
        self.standardizer.write(sample, &self.x[slot, 0])
        self.samples[slot] = training_sample(&self.x[slot, 0], x.indices, x.n, 1.0)

    cdef void score(self, int first, int n) noexcept nogil:
        cdef int m = self.topology.n_internal, s, i
        cdef Py_ssize_t e
        cdef const Sample *x
        for s in range(first, first + n):
            x = &self.samples[s]
            memcpy(&self.row[s, 0], &self.by_feature[self.n_features, 0], m * sizeof(float))
            for e in range(x.n):
                ngdt_axpy_f32((<const float *> x.values)[e],
                              &self.by_feature[x.indices[e], 0], NULL, m, &self.row[s, 0])
            for i in range(m):
                self.p[i, s] = self.row[s, i]

    cdef void backward(
            self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        cdef int s, i
        DenseRouting.backward(self, first, n, gamma, grad_output)
        for s in range(first, first + n):
            for i in range(self.topology.n_internal):
                self.row[s, i] = self.state[i, s]
