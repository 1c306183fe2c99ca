"""The arrays of a tree, as its constructor takes them: checked, copied, read-only."""

import numpy as np
from scipy import sparse

from ngdt._checks import check_csr, naming


def numbers(name, array, ndim):
    """Real numbers as float64."""
    array = _array(name, array, "real numbers", "iuf", ndim)
    array = np.array(array, dtype=np.float64, order="C")
    _check_finite(name, array)
    return read_only(array)


def integers(name, array):
    """A vector of integers as int32."""
    array = _array(name, array, "integers", "iu", 1)
    limits = np.iinfo(np.int32)
    if array.size and (array.max() > limits.max or array.min() < limits.min):
        raise ValueError(f"{name} holds ids out of range")
    return read_only(np.array(array, dtype=np.int32))


def sparse_numbers(name, matrix):
    """A sparse matrix as nonzeros, their columns and row starts, and the shape.

    Columns ascend within a row, without repetition; no zero is stored.
    """
    _check_kind(name, matrix.dtype, "real numbers", "iuf")
    _check_ndim(name, matrix.ndim, 2)
    with naming(name):
        matrix = sparse.csr_array(matrix)
    check_csr(name, matrix)
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name} must have columns that 32 bits count, got {matrix.shape[1]}")
    with naming(name):
        matrix = sparse.csr_array(
            (matrix.data.astype(np.float64), matrix.indices.astype(np.int32),
             matrix.indptr.copy()), shape=matrix.shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    _check_finite(name, matrix.data)
    # scipy keeps its hands off arrays of the type that it would choose.
    ends = np.int32 if matrix.nnz <= np.iinfo(np.int32).max else np.int64
    parts = (matrix.data, np.float64), (matrix.indices, np.int32), (matrix.indptr, ends)
    return tuple(read_only(np.array(part, dtype=dtype)) for part, dtype in parts), matrix.shape


def read_only(array):
    """The array itself, which nobody can write to any more."""
    array.flags.writeable = False
    return array


def depths(left, right):
    """Check that the children form one binary tree and return the depth of every leaf.

    Raises ValueError naming the array at fault: ids out of range, a child numbered before its
    parent (which every cycle contains), a node or leaf with two parents or none.
    """
    m = len(left)
    node_depth = np.zeros(m, dtype=np.int32)
    leaf_depth = np.full(m + 1, -1, dtype=np.int32)
    if m == 0:
        return np.zeros(1, dtype=np.int32)
    seen = np.zeros(m, dtype=bool)
    for node in range(m):
        for name, child in (("children_left", left[node]), ("children_right", right[node])):
            if child >= m or ~child > m:
                raise ValueError(
                    f"{name}[{node}] = {child} is out of range for {m} internal nodes "
                    f"(expected an id in {node + 1}..{m - 1}, or ~leaf in {-m - 1}..-1)")
            if 0 <= child <= node:
                raise ValueError(
                    f"{name}[{node}] = {child}: a child must come after its parent "
                    "(this also rules out cycles)")
            is_leaf = child < 0
            if (leaf_depth[~child] >= 0) if is_leaf else seen[child]:
                what = f"leaf {~child}" if is_leaf else f"node {child}"
                raise ValueError(f"{name}[{node}] = {child}: {what} already has a parent")
            if is_leaf:
                leaf_depth[~child] = node_depth[node] + 1
            else:
                seen[child] = True
                node_depth[child] = node_depth[node] + 1
    # m nodes have 2m child slots; all distinct and in range, they cover m-1 nodes and m+1 leaves.
    return leaf_depth


def _array(name, array, wanted, kinds, ndim):
    with naming(name):
        array = np.asarray(array)
    if array.size:
        _check_kind(name, array.dtype, wanted, kinds)
    _check_ndim(name, array.ndim, ndim)
    return array


def _check_kind(name, dtype, wanted, kinds):
    if dtype.kind not in kinds:
        raise TypeError(f"{name} must hold {wanted}, got dtype {dtype}")


def _check_ndim(name, got, wanted):
    if got != wanted:
        raise ValueError(f"{name} must have {wanted} dimension(s), got {got}")


def _check_finite(name, array):
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
