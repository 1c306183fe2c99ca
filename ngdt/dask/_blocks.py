"""Partitions of dask collections as blocks of encoded samples, on the workers that have them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask import delayed, is_dask_collection
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from ngdt._core.winsorize import winsorized
from ngdt._encoding.check_targets import check_targets
from ngdt._training.folds import hold_out
from ngdt._training.problem import Problem
from ngdt._util.validation import check_weight


@dataclass(frozen=True)
class Division:
    """Division of the samples of each partition, as in a fit in memory.

    Attributes
    ----------
    fraction : float or None
        Share of the samples that is kept out of training, to validate on.
    by_class : bool
        Whether each class is divided by itself.
    seed : int
    """

    fraction: float | None
    by_class: bool
    seed: int

    def weights(self, y, sample_weight, number):
        """Weights of the training and validation samples of partition `number`."""
        labels = np.unique(y, return_inverse=True)[1] if self.by_class else None
        training, validation = hold_out(
            sample_weight, self.fraction, labels, self.seed + number)
        return training, np.zeros_like(sample_weight) if validation is None else validation


@dataclass(frozen=True, eq=False)
class Glance:
    """Result of the first reading of a partition.

    Attributes
    ----------
    n_present, n_training : int
        Numbers of samples of positive weight, and of training samples.
    y_values, y_weights : ndarray or None
        Labels, for classification, and the weight of the samples of each.
    X, y, sample_weight : table, ndarray, ndarray
        Some of the training samples, in random order.
    """

    n_present: int
    n_training: int
    y_values: np.ndarray | None
    y_weights: np.ndarray | None
    X: Any
    y: np.ndarray
    sample_weight: np.ndarray

    def first(self, n):
        """Copy with at most `n` of the samples."""
        return self if len(self.y) <= n else replace(
            self, X=_safe_indexing(self.X, np.arange(n)), y=self.y[:n],
            sample_weight=self.sample_weight[:n])


@dataclass(frozen=True, eq=False)
class Block:
    """Encoded samples of a partition.

    Attributes
    ----------
    problem : Problem
        Has the weights of training and validation samples, and near targets.
    y : ndarray of shape (n_samples, n_outputs)
        All targets, far ones as they are.
    number : int
        Number of the partition.
    """

    problem: Problem
    y: np.ndarray
    number: int

    @property
    def weights(self):
        """Weights of training and validation samples, shape (2, n_samples)."""
        return np.stack([self.problem.sample_weight, self.problem.validation_weight])

    @property
    def present(self):
        """Indices of the samples of positive weight, int32."""
        return np.flatnonzero(self.weights.any(axis=0)).astype(np.int32)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.problem.__sizeof__() + self.y.nbytes


def partitions_of(X, y, sample_weight):
    """Partitions of X, y and sample_weight that belong together, as tuples of Delayed or None.

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
    found = {name: _partitions(collection, X, has_common_source)
             for name, collection in given.items()}
    for name, own in found.items():
        if len(own) != len(found["X"]):
            raise ValueError(
                f"X has {len(found['X'])} partitions, but {name} has {len(own)}: the partitions "
                "must hold the same samples; rechunk or repartition one of them")
    weights = found.get("sample_weight", [None] * len(found["X"]))
    return list(zip(found["X"], found["y"], weights, strict=True))


def _partitions(collection, X, has_common_source):
    if hasattr(collection, "divisions"):        # a data frame or a series
        # Only the columns that are used are read. Partitions are not merged: dask would merge the
        # partitions of y, which are smaller, but not the partitions of X.
        return list(collection.simplify().to_delayed(optimize_graph=False))
    chunks = {axis: -1 for axis in range(1, collection.ndim) if collection.numblocks[axis] > 1}
    rows, own = getattr(X, "chunks", collection.chunks)[0], collection.chunks[0]
    if np.isfinite(sum(rows)) and np.isfinite(sum(own)) and rows != own:
        if sum(rows) != sum(own):
            raise ValueError(f"X has {sum(rows)} samples, but y or sample_weight has {sum(own)}")
        chunks[0] = rows
    # X and y, each optimised by itself, would both read their common source.
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
        Number of the partition.

    Returns
    -------
    Glance, or None for a partition without samples
    """
    check_consistent_length(X, y)
    if len(y) == 0:
        return None
    y = check_targets(estimator, y, **estimator._check_y_params)
    weight = _weight(sample_weight, len(y))
    values = by_value = None
    if is_classifier(estimator):
        values, label = np.unique(y, return_inverse=True)
        by_value = np.bincount(label, weight)
    training = division.weights(y, weight, number)[0]
    samples = np.flatnonzero(training)
    drawn = np.random.default_rng((division.seed, number)).permutation(samples)[:n_drawn]
    return Glance(np.count_nonzero(weight), len(samples), values, by_value,
                  _safe_indexing(X, drawn), y[drawn], weight[drawn])


def _weight(sample_weight, n_samples):
    if sample_weight is None:
        return np.ones(n_samples)
    weight = np.asarray(sample_weight)
    # All weights of a partition may be zero.
    return weight.astype(np.float64) if not weight.any() else check_weight(weight, n_samples)


def join(tables):
    """Concatenate the rows of tables of the same type."""
    if sparse.issparse(tables[0]):
        return sparse.vstack(tables, format="csr")
    if hasattr(tables[0], "iloc"):
        import pandas
        return pandas.concat(tables)
    return np.concatenate(tables)


def encode(estimator, template, division, class_weight, fences, X, y, sample_weight, number):
    """Encode a partition as a block.

    Parameters
    ----------
    estimator : ngdt estimator
        Has the encodings of the table and of the targets.
    template : Problem
        Fields of the block other than the samples.
    division : Division
    class_weight : ndarray of shape (n_classes,), or None
        Factors of the sample weights.
    fences : pair of ndarray, or None
        Smallest and largest near target.
    X, y, sample_weight : table, array-like, array-like or None
    number : int

    Returns
    -------
    Block
    """
    y = check_targets(estimator, y, **estimator._check_y_params)
    weights = np.stack(division.weights(y, _weight(sample_weight, len(y)), number))
    # Categories that the samples lack from which the encoding was made are no foreign ones.
    X = estimator._table.transform(estimator._read(X), name=None).astype(
        template.X.dtype, copy=False)
    targets = estimator._targets.encode(y)
    if class_weight is not None:
        weights *= class_weight[targets]
    y = template.loss.encode(targets, template.n_outputs)
    near = y if fences is None else winsorized(y, *fences)
    problem = template.replace(
        X=X, y=near, sample_weight=weights[0], validation_weight=weights[1])
    return Block(problem, y, number)


def sent(value):
    """A value, lazy, that goes to the workers as it is."""
    return delayed(value, traverse=False, pure=False)


def combined(add, results):
    """Combine results of blocks on the workers, eight at once, in a fixed order.

    Parameters
    ----------
    add : callable
        Combines a list of results into one.
    results : list of Delayed

    Returns
    -------
    Delayed
    """
    while True:
        results = [delayed(add, pure=False)(results[i:i + 8]) for i in range(0, len(results), 8)]
        if len(results) == 1:
            return results[0]
