"""What every grower and optimizer is given."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ngdt._loss import Loss
from ngdt._samples import Samples
from ngdt._scaling import Scaling

# What is made of a problem when first asked for, and the fields that it depends on.
_MADE_OF = {"data": {"X"}, "scaling": {"X", "sample_weight", "standardize"}}


@dataclass(frozen=True)
class Problem:
    """Data, loss and limits of one training run; shared by all steps, changed by none.

    Held-out rows are not copied away: they have training weight 0 and a positive validation weight.

    Parameters
    ----------
    X : ndarray, C-contiguous float32 or float64, or CSR matrix, of shape (n_samples, n_features)
        Raw features, never copied or changed.
    y : ndarray of float64, shape (n_samples, n_targets)
        Targets as `Loss.encode` returns them.
    loss : Loss
    n_outputs : int
        Classes, or regression targets: the width of the leaf values.
    sample_weight : ndarray of float64, shape (n_samples,)
        Training weights; 0 means that the row is not trained on.
    validation_weight : ndarray of float64, shape (n_samples,), or None
        Weights of the held-out rows, 0 for training rows; None if nothing is held out.
    max_depth : int or None
        Limit for growers.
    standardize : {"auto", "global", True, False}
        How steps that move split weights scale the features.
    random_state : int
        Seed.
    n_jobs : int
        Number of threads; results do not depend on it.
    verbose : int
    callback : callable or None
        Called as ``callback(progress)`` after each epoch with a dict of the epoch's metrics.
    """

    X: Any
    y: np.ndarray
    loss: Loss
    n_outputs: int
    sample_weight: np.ndarray
    validation_weight: np.ndarray | None = None
    max_depth: int | None = None
    standardize: str | bool = "auto"
    random_state: int = 0
    n_jobs: int = 1
    verbose: int = 0
    callback: Callable[[dict], Any] | None = None

    def replace(self, **changes) -> "Problem":
        """A copy with some fields replaced."""
        copy = dataclasses.replace(self, **changes)
        for name, fields in _MADE_OF.items():
            if name in vars(self) and changes.keys().isdisjoint(fields):
                vars(copy)[name] = getattr(self, name)
        return copy

    @cached_property
    def data(self) -> Samples:
        """X as the kernels read it."""
        return Samples(self.X)

    @cached_property
    def scaling(self) -> Scaling:
        """The space that split weights are trained in, measured on the training rows; once."""
        return Scaling.fit(self.X, self.sample_weight, self.standardize)

    @property
    def training_samples(self) -> np.ndarray:
        """Rows to train on, int32."""
        return np.flatnonzero(self.sample_weight > 0).astype(np.int32)

    @property
    def validation_samples(self) -> np.ndarray:
        """Rows to validate on, int32; there may be none."""
        if self.validation_weight is None:
            return np.empty(0, dtype=np.int32)
        return np.flatnonzero(self.validation_weight > 0).astype(np.int32)

    def check_shapes(self, tree) -> None:
        """Raise a ValueError if a tree was made for data of another width."""
        for what, has, wants in (("features", tree.n_features, self.X.shape[1]),
                                 ("outputs", tree.n_outputs, self.n_outputs)):
            if has != wants:
                raise ValueError(f"the tree is for {has} {what}, but the data have {wants}")

    def fit_leaves(self, leaf: np.ndarray, rows: np.ndarray, n_leaves: int) -> np.ndarray:
        """Best values of the leaves that some rows reach.

        Parameters
        ----------
        leaf : ndarray of int, shape (n_rows,)
            Leaf of each of them.
        rows : ndarray of int, shape (n_rows,)
        n_leaves : int

        Returns
        -------
        ndarray of shape (n_leaves, n_outputs)
        """
        return self.loss.fit_leaves(
            leaf, self.y[rows], self.sample_weight[rows], n_leaves, self.n_outputs)

    def errors(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """What validation counts: 0/1 errors of classes, squared errors of regression values.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs)
            Leaf parameters predicted for `rows`.
        rows : ndarray of int, shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if self.loss.is_classifier:
            return (values.argmax(axis=1) != self.y[rows, 0]).astype(np.float64)
        return ((values - self.y[rows]) ** 2).sum(axis=1)


def standard_errors_saved(errors: np.ndarray, others: np.ndarray) -> float:
    """How many standard errors of the paired difference lie between two sums of weighted errors.

    Parameters
    ----------
    errors, others : ndarray of shape (n_rows,)
        Errors of two trees on the same rows, times the weights of the rows.

    Returns
    -------
    float
        Positive where `others` are fewer.
    """
    saved = errors - others
    return saved.sum() / max(np.sqrt((saved**2).sum()), np.finfo(float).tiny)
