"""Input validation shared by all public functions, and by the constructor of `Tree`."""

from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

# The form that the kernels take. float64 is what integers become; float32 stays as it is.
CHECK_X_PARAMS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


@contextmanager
def error_prefix(parameter):
    """Let the conversion errors of numpy and scikit-learn tell which parameter they are about."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"{parameter}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{parameter}: {error}") from error


def check_matrix(X):
    """Check a data matrix and return it in the form the kernels take.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray, C-contiguous, or CSR matrix
        float32 and float64 stay as they are; other numbers become float64.
    """
    with error_prefix("X"):
        return check_array(X, **CHECK_X_PARAMS, input_name="X")


def check_csr(name, matrix):
    """Check the index arrays of a CSR matrix, which the kernels follow blindly.

    They can be changed behind scipy's back.

    Parameters
    ----------
    name : str
    matrix : CSR matrix or array
    """
    ends, columns = matrix.indptr, matrix.indices
    fits = (
        len(ends) == matrix.shape[0] + 1 and ends[0] >= 0 and (np.diff(ends) >= 0).all()
        and ends.max() <= min(len(columns), len(matrix.data))
        and columns.min(initial=0) >= 0 and columns.max(initial=0) < matrix.shape[1])
    if not fits:
        raise ValueError(
            f"{name} is no valid CSR matrix: indices do not fit its shape {matrix.shape}")


def check_weight(sample_weight, n_samples):
    """Check the weights of samples; None stands for ones.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
    n_samples : int

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        Not negative, not all zero.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    with error_prefix("sample_weight"):
        weight = check_array(
            sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight")
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight per sample, "
            f"got {weight.shape}")
    if (weight < 0).any():
        raise ValueError("sample_weight must not be negative")
    if not weight.any():
        raise ValueError("sample_weight must not be zero for every sample")
    return weight


# The arrays of a tree: checked, copied, read-only.


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
    with error_prefix(name):
        matrix = sparse.csr_array(matrix)
    check_csr(name, matrix)
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name} must have columns that 32 bits count, got {matrix.shape[1]}")
    with error_prefix(name):
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
    with error_prefix(name):
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
