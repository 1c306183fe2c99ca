"""Predictions of several trees, added up sample by sample.

Samples are visited in blocks that stay in the cache while one tree after the other routes them. The
trees are read where they are. Sums run over the trees in their order, so that the result does not
depend on the blocks, nor on how the samples are divided between threads.
"""

import numpy as np
from scipy.special import softmax

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from ngdt._core.flat_tree cimport FlatTree
from ngdt._core.loss cimport to_probabilities
from ngdt._core.samples cimport Reader, Sample, Samples

cdef enum:
    BLOCK_VALUES = 262144       # of the samples of a block: 1 or 2 MB, for a level-2 cache
    MIN_BLOCK = 16              # samples
    MAX_BLOCK = 1024


cdef class Ensemble:
    """Several trees for the same features, and what their leaves predict.

    Parameters
    ----------
    trees : sequence of Tree
        At least one.
    is_classifier : bool
        Whether predictions are the probabilities of classes, or those of the trees.
    """

    cdef readonly tuple trees
    cdef readonly bint is_classifier
    cdef readonly int n_outputs
    cdef readonly int n_features
    cdef bint _has_sparse_trees
    cdef void **_trees                  # borrowed from `trees`
    cdef const double[:, ::1] _values   # of the leaves of all trees
    cdef int64_t[::1] _first            # leaf of each tree in _values

    def __init__(self, trees, is_classifier):
        cdef Py_ssize_t t
        cdef FlatTree tree
        if not len(trees):
            raise ValueError("a forest must have at least one tree")
        self.trees, self.is_classifier = tuple(trees), is_classifier
        self.n_outputs, self.n_features = self.trees[0].n_outputs, self.trees[0].n_features
        free(self._trees)       # NULL at first
        self._trees = <void **> malloc(len(self.trees) * sizeof(void *))
        if self._trees == NULL:
            raise MemoryError
        for t in range(len(self.trees)):
            tree = self.trees[t]
            if tree.n_features != self.n_features or tree.n_outputs != self.n_outputs:
                raise ValueError("the trees of a forest must have the same features and outputs")
            self._trees[t] = <void *> tree
        self._values = np.concatenate([
            softmax(each.values, axis=1) if is_classifier else each.values
            for each in self.trees])
        self._first = np.cumsum([0, *(each.n_leaves for each in self.trees)], dtype=np.int64)
        self._has_sparse_trees = any(each.is_sparse for each in self.trees)

    def __dealloc__(self):
        free(self._trees)

    def __reduce__(self):
        return Ensemble, (self.trees, self.is_classifier)

    def mean(self, Samples data not None, Py_ssize_t begin, Py_ssize_t end,
             double[:, ::1] out not None):
        """Write the mean prediction of the trees for the samples from `begin` to `end`.

        Parameters
        ----------
        data : Samples
        begin, end : int
        out : ndarray of shape (n_samples, n_outputs)
        """
        cdef Py_ssize_t t, i, k, first, last, n_trees = len(self.trees)
        cdef Py_ssize_t size = max(MIN_BLOCK, min(
            MAX_BLOCK, <Py_ssize_t> (BLOCK_VALUES / max(1.0, data.mean_stored))))
        cdef double factor = 1.0 / n_trees
        cdef double[::1] scratch = np.empty(self.n_outputs)
        cdef Reader reader = Reader(data, False)
        cdef Reader sparse_reader = Reader(data, True) if self._has_sparse_trees else reader
        if data.n_features != self.n_features:
            raise ValueError(
                f"X has {data.n_features} features, but the forest was built for "
                f"{self.n_features}")
        if not 0 <= begin <= end <= data.n_samples == out.shape[0] or (
                out.shape[1] != self.n_outputs):
            raise ValueError(f"out must be of shape {(data.n_samples, self.n_outputs)}, and begin "
                             "and end a range of its rows")
        with nogil:
            first = begin
            while first < end:
                last = min(first + size, end)
                out[first:last] = 0.0
                for t in range(n_trees):
                    self._add(
                        <FlatTree> self._trees[t], self._first[t], data, reader, sparse_reader,
                        first, last, &scratch[0], out)
                for i in range(first, last):
                    for k in range(self.n_outputs):
                        out[i, k] *= factor
                first = last

    cdef void _add(
        self, FlatTree tree, Py_ssize_t values, Samples data, Reader reader, Reader sparse_reader,
        Py_ssize_t first, Py_ssize_t last, double *scratch, double[:, ::1] out
    ) noexcept nogil:
        """Add the predictions of a tree for a block of samples."""
        cdef bint is_linear = tree.slopes is not None
        cdef int k, leaf, root = 0 if tree.n_internal else ~0
        cdef const double *prediction
        cdef Py_ssize_t i
        cdef Sample x
        for i in range(first, last):
            x = sparse_reader.get(i) if tree.is_sparse else reader.get(i)
            leaf = tree.leaf_below(&x, root)
            prediction = &self._values[values + leaf, 0]
            if is_linear:
                x = data.get(i)
                tree.predict_linear(&x, leaf, scratch)
                if self.is_classifier:
                    to_probabilities(scratch, self.n_outputs)
                prediction = scratch
            for k in range(self.n_outputs):
                out[i, k] += prediction[k]
