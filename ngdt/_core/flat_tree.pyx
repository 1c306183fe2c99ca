"""Kernels of the flat tree: the leaf that each sample reaches, and scores.

The score of a sample at a node is one dot product of length n_features, or of the nonzeros of the
node where weights are sparse; to route a sample costs one per node of its path.

Arrays are read-only, in float64 and int32. Dense weights are one C-contiguous matrix; sparse ones
are in CSR form with ascending columns. Nothing is written but the output, so any number of threads
may use a tree at once.
"""

import numpy as np
from scipy import sparse

from libc.math cimport copysign, fabs, fmin, isfinite, isnan
from libc.stdint cimport int32_t, uintptr_t

from ngdt._core.samples cimport Reader, Sample, Samples, check_ids


def depths(const int32_t[::1] left not None, const int32_t[::1] right not None):
    """Depths of the nodes and leaves of a tree, and whether its children form one.

    Parameters
    ----------
    left, right : ndarray of int32, shape (n_internal,)
        Children of the nodes.

    Returns
    -------
    node_depths, leaf_depths : ndarray of int32
    fault : int
        -1, or the first child at fault, as twice the number of its parent, and one more if it is a
        right child: one out of range, numbered before its parent (which every cycle contains), or
        with another parent. The depths are then no more than begun.
    """
    cdef Py_ssize_t m = left.shape[0], node, k
    cdef int32_t child
    node_depths, leaf_depths = (np.full(n, -1, dtype=np.int32) for n in (m, m + 1))
    cdef int32_t[::1] node_depth = node_depths, leaf_depth = leaf_depths
    cdef int32_t *depth = &node_depth[0] if m else &leaf_depth[0]
    depth[0] = 0
    for k in range(2 * m):
        node = k // 2
        child = right[node] if k % 2 else left[node]
        if child >= m or ~child > m or 0 <= child <= node:
            return node_depths, leaf_depths, k
        depth = &node_depth[child] if child >= 0 else &leaf_depth[~child]
        if depth[0] >= 0:
            return node_depths, leaf_depths, k
        depth[0] = node_depth[node] + 1
    # m nodes have 2m child slots; all distinct and in range, they cover m-1 nodes and m+1 leaves.
    return node_depths, leaf_depths, -1


cdef class FlatTree:
    """The arrays of a tree, as kernels read them. `Tree` checks them and has the public methods.

    Parameters
    ----------
    dense : ndarray of float64, shape (n_internal, n_features), or None
    csr : tuple (nonzeros, columns, starts), or None
        The weights are in one of these two forms.
    n_features : int
    thresholds, children_left, children_right, values : ndarray
    slopes, ranges : ndarray or None
        As for `Tree`: checked, read-only, float64 or int32.
    node_depths, leaf_depths : ndarray of int32
    """

    def __init__(self, dense, csr, n_features, thresholds, children_left, children_right, values,
                 slopes, ranges, node_depths, leaf_depths):
        self.thresholds = self._thresholds = thresholds
        self.children_left = self._left = children_left
        self.children_right = self._right = children_right
        self.values, self.slopes, self.ranges = values, slopes, ranges
        self._node_depths, self._leaf_depths = node_depths, leaf_depths
        self.n_internal, self.n_features = len(thresholds), n_features
        self.n_outputs, self.max_depth = values.shape[1], leaf_depths.max()
        self._values = values
        self._has_ranges = ranges is not None
        # Views: kernels want one row for each leaf and output.
        if slopes is not None:
            self._slopes = slopes.reshape(-1, n_features)
        if ranges is not None:
            self._ranges = ranges.reshape(-1, 2)
        self.is_sparse = dense is None
        self._dense, self._csr = dense, csr
        self._weights = dense
        if self.is_sparse:
            data, columns, starts = csr
            # scipy chooses between 32 and 64 bits for starts; kernels read one type.
            self._starts = starts.astype(np.int64)
            # Addresses, which stay valid: `_csr` keeps the arrays, and nobody can write to them.
            self._nonzeros = <const double *> <uintptr_t> data.ctypes.data
            self._columns = <const int32_t *> <uintptr_t> columns.ctypes.data

    @property
    def weights(self):
        if not self.is_sparse:
            return self._dense
        # Made anew each time: scipy matrices are mutable; the buffers are read-only.
        return sparse.csr_array(self._csr, shape=(self.n_internal, self.n_features))

    @property
    def n_nonzero(self):
        return len(self._csr[0]) if self.is_sparse else int(np.count_nonzero(self._dense))

    @property
    def n_leaves(self):
        return self.n_internal + 1

    def dense_weights(self, nodes=slice(None)):
        """Weights of some nodes as a dense array, whatever the tree stores.

        Parameters
        ----------
        nodes : slice or array-like of int, default=all

        Returns
        -------
        ndarray of shape (n_nodes, n_features)
        """
        weights = self.weights[nodes]
        return weights.toarray() if self.is_sparse else weights

    def samples_of(self, X):
        """The samples of a matrix, for the methods that take `Samples`.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Of float32 or float64; dense ones are C-contiguous.

        Returns
        -------
        Samples
        """
        data = Samples(X)
        self._check_width(data)
        return data

    cdef int _check_width(self, Samples data) except -1:
        if data.n_features != self.n_features:
            raise ValueError(
                f"X has {data.n_features} features, but the tree was built for {self.n_features}")
        return 0

    def _route(self, Samples data not None, const int32_t[::1] samples, const int32_t[::1] start):
        """Leaf of each sample: `Tree.apply_samples` with the weights in the form they have."""
        cdef bint has_samples = samples is not None, has_start = start is not None
        cdef Py_ssize_t n = samples.shape[0] if has_samples else data.n_samples
        self._check_width(data)
        if has_samples:
            # Kernels index without checks: a wrong number would read foreign memory.
            check_ids("samples", samples, 0, data.n_samples)
        if has_start:
            if start.shape[0] != n:
                raise ValueError(f"start has {start.shape[0]} entries for {n} samples")
            check_ids("start", start, -self.n_leaves, self.n_internal)
        # A Reader has a buffer, so each call makes its own: calls may run in several threads.
        cdef Reader reader = Reader(data, self.is_sparse)
        out = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef int root = 0 if self.n_internal else ~0
        cdef Py_ssize_t i
        cdef Sample x
        with nogil:
            for i in range(n):
                # Samples in any order come from memory, not from the cache: the next one is on its
                # way while this one is routed. Who starts at a leaf reads no values.
                if i + 1 < n and (not has_start or start[i + 1] >= 0):
                    reader.prefetch(samples[i + 1] if has_samples else i + 1)
                x = reader.get(samples[i] if has_samples else i)
                leaf[i] = self.leaf_below(&x, start[i] if has_start else root)
        return out

    def _route_finite(
        self, Samples data not None, Py_ssize_t first, Py_ssize_t stop,
        int32_t[::1] leaf not None, double[:, ::1] out=None
    ):
        """Write the leaves of the samples from `first` to `stop - 1`; whether they are finite.

        The root multiplies all values by finite weights, so that NaN or infinity makes its score
        one, too. So can finite values that are huge. Sparse weights skip values: False.
        Predictions of linear leaves are written to `out`, while the sample is in the cache.
        """
        # No product with all values is computed there, which could tell.
        if self.n_internal == 0 or self.is_sparse:
            return False
        self._check_width(data)
        if not 0 <= first <= stop <= data.n_samples == leaf.shape[0]:
            raise ValueError(
                f"samples {first} to {stop} of {data.n_samples}, with room for {leaf.shape[0]}")
        cdef bint finite = True, predicts = out is not None
        if predicts and (out.shape[0] != leaf.shape[0] or out.shape[1] != self.n_outputs):
            raise ValueError(f"out has the shape ({out.shape[0]}, {out.shape[1]})")
        # Dense weights meet every value, so that no NaN is passed over.
        cdef Reader reader = Reader(data, False)
        # Looked for only where there are samples enough to make up for it.
        cdef bint has_columns = not data.is_sparse and stop - first > self.n_internal
        cdef int32_t[::1] column = self._only_columns() if has_columns else None
        cdef Py_ssize_t i
        cdef double score
        cdef int node
        cdef Sample x
        with nogil:
            for i in range(first, stop):
                if i + 1 < stop:
                    reader.prefetch(i + 1)
                x = reader.get(i)
                # One test of the score of the root replaces a pass over all values, which would
                # cost as much as the routing.
                score = self.score(&x, 0)
                # The caller then checks all samples, to name the value at fault, and starts again.
                if not isfinite(score):
                    finite = False
                    break
                node = self.child(0, score)
                # Of finite values, one product tells the decision of an axis-aligned split.
                while has_columns and node >= 0 and column[node] >= 0:
                    score = x.dot_sparse(
                        x.values, x.indices, x.n, &self._weights[node, column[node]],
                        &column[node], 1) - x.offset * self._thresholds[node]
                    node = self.child(node, score)
                leaf[i] = self.leaf_below(&x, node)
                if predicts:
                    self.predict_linear(&x, leaf[i], &out[i, 0])
        return finite

    cdef int32_t[::1] _only_columns(self):
        """The column of the only weight of each node that is not zero; -1 where others are."""
        cdef int32_t[::1] column = np.empty(self.n_internal, dtype=np.int32)
        cdef Py_ssize_t node, j, n_nonzero
        for node in range(self.n_internal):
            n_nonzero = 0
            for j in range(self.n_features):
                if self._weights[node, j] != 0.0:
                    column[node] = <int32_t> j
                    n_nonzero += 1
            if n_nonzero != 1:
                column[node] = -1
        return column

    def _predict_linear(
            self, const int32_t[::1] leaf, Samples data not None, const int32_t[::1] samples):
        """Predictions of linear leaves for samples whose leaves are known."""
        cdef bint has_samples = samples is not None
        cdef Py_ssize_t i, n = data.n_samples if samples is None else samples.shape[0]
        self._check_width(data)
        if leaf.shape[0] != n:
            raise ValueError(f"leaf has {leaf.shape[0]} entries for {n} samples")
        check_ids("leaf", leaf, 0, self.n_leaves)
        if has_samples:
            check_ids("samples", samples, 0, data.n_samples)
        out = np.empty((n, self.n_outputs))
        cdef double[:, ::1] prediction = out
        cdef Sample x
        with nogil:
            for i in range(n):
                if has_samples and i + 1 < n:   # in their order, hardware foresees the next one
                    data.prefetch(samples[i + 1])
                x = data.get(samples[i] if has_samples else i)
                self.predict_linear(&x, leaf[i], &prediction[i, 0])
        return out

    def _nearest_products(
        self, Samples data not None, const int32_t[::1] samples not None,
        const int32_t[::1] column not None, const double[::1] weight not None
    ):
        """Largest and smallest products of the samples at the split of each node.

        Parameters
        ----------
        data : Samples
        samples : ndarray of int32, shape (n,)
        column : ndarray of int32, shape (n_internal,)
            The feature of a split on a single one; -1 for other splits.
        weight : ndarray of shape (n_internal,)
            Of this feature, which is compared by its values: its sign only enters the products.

        Returns
        -------
        left, right : ndarray of shape (n_internal,)
            The largest product of the samples that go left, and the smallest of those that go
            right; -inf and inf where there are none.
        leaf : ndarray of int32, shape (n,)
        """
        cdef Py_ssize_t i
        cdef int at
        cdef bint goes_right
        cdef double product, sign
        cdef Sample x, single
        # `single` is multiplied with one weight, whatever the form of the tree's: a product with a
        # dense vector would read the whole sample.
        cdef Reader reader = Reader(data, self.is_sparse), single_reader = Reader(data, True)
        self._check_width(data)
        check_ids("samples", samples, 0, data.n_samples)
        check_ids("column", column, -1, self.n_features)
        if not len(column) == len(weight) == self.n_internal:
            raise ValueError("column and weight must have an entry for each node")
        lefts, rights = np.full(self.n_internal, -np.inf), np.full(self.n_internal, np.inf)
        leaves = np.empty(len(samples), dtype=np.int32)
        cdef double[::1] left = lefts, right = rights
        cdef int32_t[::1] leaf = leaves
        with nogil:
            for i in range(samples.shape[0]):
                if i + 1 < samples.shape[0]:
                    reader.prefetch(samples[i + 1])
                x, single = reader.get(samples[i]), single_reader.get(samples[i])
                at = 0 if self.n_internal else ~0
                while at >= 0:
                    if column[at] < 0:
                        product = self.product(&x, at)
                        goes_right = product > self._thresholds[at]
                    else:
                        # A sign changes no digit: |weight| times the product is, to the last bit,
                        # what the tree compares with the threshold.
                        sign = copysign(1.0, weight[at])
                        product = single.dot_sparse(
                            single.values, single.indices, single.n, &sign, &column[at], 1)
                        goes_right = fabs(weight[at]) * product > self._thresholds[at]
                    if goes_right:
                        # Here the product cannot be NaN, which is never greater than a threshold.
                        right[at] = fmin(right[at], product)
                        at = self._right[at]
                    else:       # NaN goes left, and stays
                        if product > left[at] or isnan(product):
                            left[at] = product
                        at = self._left[at]
                leaf[i] = ~at
        return lefts, rights, leaves

    def scores_of(self, Samples data not None):
        """Score of every sample at every internal node, as `scores`.

        Parameters
        ----------
        data : Samples

        Returns
        -------
        ndarray of shape (n_samples, n_internal)
        """
        self._check_width(data)
        cdef Reader reader = Reader(data, self.is_sparse)
        out = np.empty((data.n_samples, self.n_internal))
        cdef double[:, ::1] score = out
        cdef Py_ssize_t i
        cdef int node
        cdef Sample x
        with nogil:
            for i in range(data.n_samples):
                x = reader.get(i)
                # Sample by sample: each is read from memory once for all nodes.
                for node in range(self.n_internal):
                    score[i, node] = self.score(&x, node)
        return out
