"""Functions of arrays: blocks of rows, units to divide by, and a softmax."""

import numpy as np


def row_blocks(shape, size):
    """Slices of the rows of a matrix of this shape, with at most about `size` values each."""
    n_rows, n_columns = shape
    step = max(1, size // max(1, n_columns))
    return [slice(begin, begin + step) for begin in range(0, n_rows, step)]


def power_of_two(size):
    """A power of two near each size. To divide by it rounds nothing."""
    return 2.0 ** np.frexp(size)[1].clip(-1000, 1000)


def log_probabilities(logits):
    """Logarithm of the softmax of each row; for small arrays, faster than the function of SciPy."""
    log_p = logits - logits.max(axis=1, keepdims=True)
    return log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True))
