"""Strategies for samples, targets and assignments."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from ngdt._core.loss import Loss
from ngdt.testing.strategies._elements import (
    DEFAULT_LOSSES,
    DTYPES,
    DYADICS,
    N_SAMPLES,
    SIZES,
    SPARSE,
)


class Dataset(NamedTuple):
    """Samples, targets and a loss, as `datasets` draws them.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    loss : Loss
        A loss for targets such as `y`.
    """

    X: Any
    y: np.ndarray
    loss: Loss


@st.composite
def samples(
    draw,
    *,
    n_samples=N_SAMPLES,
    n_features=SIZES,
    elements=DYADICS,
    dtypes=DTYPES,
    sparse=SPARSE,
):
    """Data matrices.

    Parameters
    ----------
    n_samples, n_features : strategy of int
    elements : strategy of float
        Entries; rounded to the dtype. Many are zero.
    dtypes : strategy of dtype
        float32 or float64.
    sparse : strategy of bool
        True for a CSR array.

    Returns
    -------
    strategy of ndarray or csr_array, shape (n_samples, n_features)

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import samples
    >>> find(samples(), lambda X: X.max() > 1)
    array([[1.5]])
    """
    shape = draw(n_samples), draw(n_features)
    X = draw(arrays(np.float64, shape, elements=elements)).astype(draw(dtypes))
    if len(np.unique(X, axis=0)) < len(X):
        event("samples: equal samples")
    return csr_array(X) if draw(sparse) else X


@st.composite
def targets(draw, *, losses=DEFAULT_LOSSES, n_samples=N_SAMPLES, n_outputs=SIZES, elements=DYADICS):
    """Targets for a loss: class indices, or targets for regression.

    Parameters
    ----------
    losses : strategy of Loss
    n_samples : strategy of int
    n_outputs : strategy of int
        Number of classes, or of regression targets.
    elements : strategy of float
        Regression targets. A loss of targets that are not negative gets the absolute values.

    Returns
    -------
    strategy of ndarray, shape (n_samples,) or (n_samples, n_outputs)

    Examples
    --------
    >>> from hypothesis import find
    >>> from hypothesis import strategies as st
    >>> from ngdt.losses import LogLoss
    >>> from ngdt.testing.strategies import targets
    >>> find(targets(losses=st.just(LogLoss())), lambda y: len(set(y)) == 2)
    array([0, 1])
    """
    loss, n, k = draw(losses), draw(n_samples), draw(n_outputs)
    if loss.is_classifier:
        return draw(arrays(np.int64, n, elements=st.integers(0, k - 1)))
    shape = n if k == 1 and draw(st.booleans()) else (n, k)
    if loss.has_log_link:
        elements = elements.map(abs)
    return draw(arrays(np.float64, shape, elements=elements))


@st.composite
def assignments(draw, *, n_leaves=SIZES, n_samples=N_SAMPLES):
    """Leaf ids, one per sample: an assignment for the bound of `ngdt.inference.upper_bound`.

    Parameters
    ----------
    n_leaves, n_samples : strategy of int

    Returns
    -------
    strategy of ndarray of int32, shape (n_samples,)

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import assignments
    >>> find(assignments(), lambda leaf: leaf.any())
    array([1], dtype=int32)
    """
    n, n_leaves = draw(n_samples), draw(n_leaves)
    return draw(arrays(np.int32, n, elements=st.integers(0, n_leaves - 1)))


@st.composite
def datasets(
    draw,
    *,
    losses=DEFAULT_LOSSES,
    n_samples=N_SAMPLES,
    n_features=SIZES,
    n_outputs=SIZES,
    elements=DYADICS,
    dtypes=DTYPES,
    sparse=SPARSE,
):
    """Samples with targets, as `fit` of an estimator takes them.

    Parameters
    ----------
    losses : strategy of Loss
        Decides between classification and regression.
    n_samples, n_features, n_outputs : strategy of int
    elements : strategy of float
        Entries of the samples and regression targets.
    dtypes : strategy of dtype
        Dtypes of the samples.
    sparse : strategy of bool

    Returns
    -------
    strategy of Dataset

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import datasets
    >>> X, y, loss = find(datasets(), lambda dataset: dataset.loss.is_classifier)
    >>> X, y, loss
    (array([[0.]]), array([0]), LogLoss(pseudo_count=1))
    """
    n, loss = st.just(draw(n_samples)), draw(losses)
    X = draw(
        samples(n_samples=n, n_features=n_features, elements=elements, dtypes=dtypes, sparse=sparse)
    )
    y = draw(targets(losses=st.just(loss), n_samples=n, n_outputs=n_outputs, elements=elements))
    return Dataset(X, y, loss)
