"""Norm and spread of the samples, from which step sizes and limits of norms are computed."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, svds

from ngdt._core.scaling import Scaling

# Number of samples that estimate the spread of the data. They suffice for one eigenvalue.
_N_SAMPLES = 2000
TINY = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class InputScale:
    """The space that split weights are trained in.

    Attributes
    ----------
    scaling : Scaling
        The map from the raw features to this space.
    norm_limit : float
        Samples of a larger norm, with the constant feature, are shrunk to this norm.
    spread : float
        Largest standard deviation of the shrunk samples in any direction.
    """

    scaling: Scaling
    norm_limit: float
    spread: float

    @classmethod
    def measure(cls, problem, norm_limit):
        """Measure it on training samples; `norm_limit` is in units of the median norm, or None."""
        scaling = problem.scaling
        X = problem.X[representative_samples(problem.training_samples)]
        is_sparse = sparse.issparse(X)
        if is_sparse:
            X = scaling.transform(X)
            norms = np.sqrt(X.multiply(X).sum(axis=1) + 1.0)
        else:
            X, norms = _standardize(X, scaling)
        limit = np.inf if norm_limit is None else norm_limit * np.median(norms)
        shrink = np.minimum(1.0, limit / norms)
        if is_sparse:
            X = sparse.diags_array(shrink) @ X      # never centred
        else:
            X *= shrink[:, None].astype(X.dtype)
            X -= X.mean(axis=0)
        return cls(scaling, limit, max(_largest_singular_value(X) / np.sqrt(X.shape[0]), TINY))


def _standardize(X, scaling):
    """Dense samples, standardised as in the kernel, and their norms with the constant feature."""
    # Near the largest number of the type, differences from the mean overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        X = (X - scaling.center.astype(X.dtype)) * (1.0 / scaling.scale).astype(X.dtype)
        norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64) + 1.0)
    overflown = ~np.isfinite(norms)
    X[overflown], norms[overflown] = 0.0, 1.0
    return X, norms


def representative_samples(samples):
    """At most `_N_SAMPLES` of the samples, spread evenly over them."""
    return samples[:: max(1, len(samples) // _N_SAMPLES)][:_N_SAMPLES]


def _largest_singular_value(X):
    if min(X.shape) <= 2:
        return np.linalg.norm(X.toarray() if sparse.issparse(X) else X, 2)
    largest = abs(X).max()
    if largest < np.finfo(np.float64).tiny:
        return 0.0      # the inverse may overflow
    # Not the vector of ones: with more features than samples, centring makes X' 1 = 0.
    initial = np.random.RandomState(0).normal(size=min(X.shape))
    # Entries of order 1, since ARPACK computes squares.
    X = X / largest
    try:
        return largest * svds(X, k=1, v0=initial, return_singular_vectors=False)[0]
    except ArpackError:
        return largest * sparse.linalg.norm(X) if sparse.issparse(X) else (
            largest * np.linalg.norm(X))     # an upper bound
