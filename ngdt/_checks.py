"""Validation that every public door shares."""

import numpy as np
from sklearn.utils import check_array


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
    return check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X",
        ensure_min_samples=0)
