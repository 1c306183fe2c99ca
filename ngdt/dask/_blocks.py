"""Partitions of dask collections as blocks of encoded samples, on the workers that have them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask import delayed, is_dask_collection
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from ngdt._core.scaling import Moments
from ngdt._encoding.check_targets import check_targets
from ngdt._training.folds import hold_out
from ngdt._training.problem import Problem
from ngdt._util.validation import check_weight


@dataclass(frozen=True)
class Division:
    """How the samples of each partition are divided, as in a fit in memory.

    Attributes
    ----------
    fraction : float or None
        Share of the samples that is kept out of training.
    is_compared : bool
        Whether half of these is left to the comparison with the baseline.
    by_class : bool
        Whether each class is divided by itself.
    seed : int
    """

    fraction: float | None
    is_compared: bool
    by_class: bool
    seed: int

    def weights(self, y, sample_weight, number):
        """Weights of training, validation and test samples of a partition of this number."""
        labels, seed = np.unique(y, return_inverse=True)[1] if self.by_class else None, (
            self.seed + number)
        training, held_out = hold_out(sample_weight, self.fraction, labels, seed)
        none = np.zeros_like(sample_weight)
        if held_out is None or not self.is_compared:
            return training, none if held_out is None else held_out, none
        validation, test = hold_out(held_out, 0.5, labels, seed)
        return training, validation, none if test is None else test


@dataclass(frozen=True, eq=False)
class Glance:
    """What the first reading of a partition finds.

    Attributes
    ----------
    n_samples, n_present, n_training : int
        Number of all samples, of those of positive weight, and of those to train on.
    weight : float
        Of all samples.
    y_values : ndarray
        Labels, for classification.
    y_weights : ndarray
        Their weights.
    y_moments : Moments or None
        Of the targets, for regression.
    X, y, sample_weight : table, ndarray, ndarray
        Some of the training samples, in random order.
    """

    n_samples: int
    n_present: int = 0
    n_training: int = 0
    weight: float = 0.0
    y_values: Any = None
    y_weights: Any = None
    y_moments: Moments | None = None
    X: Any = None
    y: Any = None
    sample_weight: Any = None

    @property
    def n_drawn(self):
        """Number of samples that are returned."""
        return 0 if self.y is None else len(self.y)

    def first(self, n):
        """With at most so many of the samples."""
        if self.n_drawn <= n:
            return self
        return replace(self, X=_safe_indexing(self.X, np.arange(n)), y=self.y[:n],
                       sample_weight=self.sample_weight[:n])


@dataclass(frozen=True, eq=False)
class Block:
    """The encoded samples of a partition.

    Attributes
    ----------
    problem : Problem
        With weights of training and validation samples.
    test_weight : ndarray of shape (n_samples,)
        Weights of the samples by which the tree is compared with the baseline.
    number : int
        Of the partition.
    """

    problem: Problem
    test_weight: np.ndarray
    number: int

    @property
    def weights(self):
        """Weights of training, validation and test samples, shape (3, n_samples)."""
        return np.stack([
            self.problem.sample_weight, self.problem.validation_weight, self.test_weight])

    @property
    def present(self):
        """Indices of the samples of positive weight, int32."""
        return np.flatnonzero(self.weights.any(axis=0)).astype(np.int32)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.problem.__sizeof__() + 2 * self.test_weight.nbytes


def partitions_of(X, y, sample_weight):
    """The partitions of the collections that belong together, as tuples of Delayed or None.

    Raises
    ------
    TypeError, ValueError
        If an argument is no collection, or if the partitions do not fit each other.
    """
    given = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    for name, collection in given.items():
        if not (is_dask_collection(collection) and hasattr(collection, "to_delayed")):
            raise TypeError(
                f"{name} must be a dask array or data frame, got {type(collection).__name__}: use "
                "dask.array.from_array or dask.dataframe.from_pandas, or the estimators of ngdt")
    if X.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, got {X.ndim} dimensions: a single feature is "
            "x.reshape(-1, 1)")
    layers = [set(collection.__dask_graph__().layers) for collection in given.values()
              if hasattr(collection, "chunks")]
    has_common_source = len(set().union(*layers)) < sum(map(len, layers))
    parts = {name: _partitions(collection, X, has_common_source)
             for name, collection in given.items()}
    for name, part in parts.items():
        if len(part) != len(parts["X"]):
            raise ValueError(
                f"X has {len(parts['X'])} partitions, but {name} has {len(part)}: the partitions "
                "must hold the same samples; rechunk or repartition one of them")
    weights = parts.get("sample_weight", [None] * len(parts["X"]))
    return list(zip(parts["X"], parts["y"], weights, strict=True))


def _partitions(collection, X, has_common_source):
    if hasattr(collection, "divisions"):        # a data frame or a series
        # Only the columns that are used are read, but partitions are not merged: dask would merge
        # those of y, which are smaller, and not those of X.
        simplified = collection.simplify() if hasattr(collection, "simplify") else collection
        return list(simplified.to_delayed(optimize_graph=False))
    chunks = {axis: -1 for axis in range(1, collection.ndim) if collection.numblocks[axis] > 1}
    rows, own = getattr(X, "chunks", collection.chunks)[0], collection.chunks[0]
    if np.isfinite(sum(rows)) and np.isfinite(sum(own)) and rows != own:
        if sum(rows) != sum(own):
            raise ValueError(f"X has {sum(rows)} samples, but y or sample_weight has {sum(own)}")
        chunks[0] = rows
    # Each array would be optimised by itself, and what X and y are made of read once for each.
    found = (collection.rechunk(chunks) if chunks else collection).to_delayed(
        optimize_graph=not has_common_source)
    return found.ravel().tolist()


def glance(estimator, division, n_drawn, X, y, sample_weight, number):
    """Read a partition for the first time: sums of the targets, and some training samples.

    Parameters
    ----------
    estimator : ngdt estimator
        Unfitted.
    division : Division
    n_drawn : int
        Largest number of samples to return.
    X, y, sample_weight : table, array-like, array-like or None
    number : int
        Of the partition.

    Returns
    -------
    Glance
    """
    check_consistent_length(X, y)
    if len(y) == 0:
        return Glance(0)
    y = check_targets(estimator, y, **estimator._check_y_params)
    weight = _weight(sample_weight, len(y))
    moments = values = by_value = None
    if is_classifier(estimator):
        values, label = np.unique(y, return_inverse=True)
        by_value = np.bincount(label, weight)
    elif weight.any():
        moments = Moments.of(np.asarray(y, dtype=np.float64).reshape(len(y), -1), weight)
    training = division.weights(y, weight, number)[0]
    samples = np.flatnonzero(training)
    drawn = np.random.default_rng((division.seed, number)).permutation(samples)[:n_drawn]
    return Glance(len(y), np.count_nonzero(weight), len(samples), weight.sum(), values, by_value,
                  moments, _safe_indexing(X, drawn), y[drawn], weight[drawn])


def _weight(sample_weight, n_samples):
    if sample_weight is None:
        return np.ones(n_samples)
    weight = np.asarray(sample_weight)
    # All may be zero in a partition.
    return weight.astype(np.float64) if not weight.any() else check_weight(weight, n_samples)


def join(parts):
    """The rows of several tables of one kind."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    if hasattr(parts[0], "iloc"):
        import pandas
        return pandas.concat(parts)
    return np.concatenate(parts)


def encode(estimator, template, division, class_weight, X, y, sample_weight, number):
    """The block of a partition.

    Parameters
    ----------
    estimator : ngdt estimator
        With what it has learned of the table and of the targets.
    template : Problem
        Whose fields the block has, but for the samples.
    division : Division
    class_weight : ndarray of shape (n_classes,), or None
        Factors of the sample weights.
    X, y, sample_weight : table, array-like, array-like or None
    number : int

    Returns
    -------
    Block
    """
    y = check_targets(estimator, y, **estimator._check_y_params)
    weights = np.stack(division.weights(y, _weight(sample_weight, len(y)), number))
    X = estimator._table.transform(estimator._read(X)).astype(template.X.dtype, copy=False)
    targets = estimator._targets.encode(y)
    if class_weight is not None:
        weights *= class_weight[targets]
    problem = template.replace(
        X=X, y=template.loss.encode(targets, template.n_outputs), sample_weight=weights[0],
        validation_weight=weights[1])
    return Block(problem, weights[2], number)


def combined(add, parts, at_once=8):
    """Combine results of blocks on the workers, some at once, in an order that is always the same.

    Parameters
    ----------
    add : callable
        From a list of results to one of the same kind.
    parts : list of Delayed
    at_once : int, default=8

    Returns
    -------
    Delayed
    """
    while True:
        parts = [delayed(add, pure=False)(parts[i:i + at_once])
                 for i in range(0, len(parts), at_once)]
        if len(parts) == 1:
            return parts[0]
