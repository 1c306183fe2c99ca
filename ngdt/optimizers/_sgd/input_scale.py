"""The size and the spread of the samples, by which step sizes and norms are chosen."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from ngdt._scaling import Scaling

# Samples that estimate the spread of the data: enough for one eigenvalue, small for any data set.
_N_SAMPLES = 2000
TINY = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class InputScale:
    """The space that split weights are trained in.

    Attributes
    ----------
    scaling : Scaling
        How it comes from the raw features.
    norm_limit : float
        Norm, with the constant feature, to which longer samples are shrunk.
    spread : float
        Standard deviation of the shrunk samples in their widest direction.
    """

    scaling: Scaling
    norm_limit: float
    spread: float

    @classmethod
    def measure(cls, problem, norm_limit):
        """Measure it on the training rows; `norm_limit` is in medians of the norm, or None."""
        scaling = problem.scaling
        X = problem.X[representative_samples(problem.training_samples)]
        is_sparse = sparse.issparse(X)
        if is_sparse:
            X = scaling.transform(X)
            norms = np.sqrt(X.multiply(X).sum(axis=1) + 1.0)
        else:
            X = (X - scaling.center.astype(X.dtype)) * (1.0 / scaling.scale).astype(X.dtype)
            norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64) + 1.0)
        limit = np.inf if norm_limit is None else norm_limit * np.median(norms)
        shrink = np.minimum(1.0, limit / norms)
        if is_sparse:
            X = sparse.diags_array(shrink) @ X      # never centred
        else:
            X *= shrink[:, None].astype(X.dtype)
            X -= X.mean(axis=0)
        return cls(scaling, limit, max(_largest_singular_value(X) / np.sqrt(X.shape[0]), TINY))


def representative_samples(rows):
    """Samples spread evenly over the data, at most _N_SAMPLES of them."""
    return rows[:: max(1, len(rows) // _N_SAMPLES)][:_N_SAMPLES]


def _largest_singular_value(X):
    if min(X.shape) <= 2:
        return np.linalg.norm(X.toarray() if sparse.issparse(X) else X, 2)
    largest = abs(X).max()
    if largest == 0:
        return 0.0
    # Not the vector of ones: where features outnumber samples, centring has made X' 1 = 0.
    start = np.random.RandomState(0).normal(size=min(X.shape))
    # Of order 1, since ARPACK works with the squares.
    return largest * svds(X / largest, k=1, v0=start, return_singular_vectors=False)[0]
