"""Functions of arrays: dense forms, blocks and groups of rows, units, comparisons of errors."""

import numpy as np
from scipy import sparse

# Difference of sums of errors that rounding can explain, relative to the largest of them.
_ROUNDING = 1e-12


def as_dense(X):
    """The array of a sparse matrix; an array itself."""
    return X.toarray() if sparse.issparse(X) else X


def row_blocks(shape, size):
    """Slices of the rows of a matrix of this shape, with at most about `size` values each."""
    n_rows, n_columns = shape
    step = max(1, size // max(1, n_columns))
    return [slice(begin, begin + step) for begin in range(0, n_rows, step)]


def group_matrix(group, n_groups, weight=1.0):
    """The CSR matrix whose product with a matrix has the sum of the weighted rows of each group.

    Parameters
    ----------
    group : ndarray of int, shape (n_rows,)
    n_groups : int
    weight : float or ndarray of shape (n_rows,), default=1.0

    Returns
    -------
    CSR matrix of shape (n_groups, n_rows)
    """
    n_rows = len(group)
    return sparse.csr_array(
        (np.broadcast_to(weight, n_rows), (group, np.arange(n_rows))), (n_groups, n_rows))


def power_of_two(size):
    """A power of two near each size. To divide by it rounds nothing."""
    return 2.0 ** np.minimum(np.maximum(np.frexp(size)[1], -1000), 1000)


def log_probabilities(logits):
    """Logarithm of the softmax of each row; for small arrays, faster than the function of SciPy."""
    log_p = logits - logits.max(axis=1, keepdims=True)
    return log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True))


def standard_errors_saved(errors, others):
    """The difference of two sums of weighted errors, in standard errors of the paired difference.

    Parameters
    ----------
    errors, others : ndarray of shape (n_samples,)
        Errors of two trees on the same samples, multiplied by sample weights.

    Returns
    -------
    float
        Positive if the sum of `others` is smaller.
    """
    saved = errors - others
    largest = np.abs(saved).max(initial=0.0)
    if largest == 0.0:
        return 0.0
    saved = saved / largest     # whose squares may overflow
    return saved.sum() / np.sqrt((saved**2).sum())


def fill(array, kept):
    """Set an array to what was kept of it.

    Parameters
    ----------
    array, kept : ndarray
    """
    if kept.shape != array.shape:
        raise ValueError(f"an array has the shape {kept.shape}, not {array.shape}")
    array[...] = kept
    if not np.isfinite(array).all():
        raise ValueError("an array has numbers that are not finite")


def least(errors, slack=0.0):
    """Index of the least error; of those within the slack or rounding of it, the last.

    Candidates in an array are sorted from the most complex to the simplest: of equally good ones,
    the simplest is chosen.
    """
    errors = np.where(np.isnan(errors), np.inf, errors)
    slack += _ROUNDING * np.abs(errors).max(where=np.isfinite(errors), initial=0.0)
    return int(np.flatnonzero(errors <= errors.min() + slack)[-1])
