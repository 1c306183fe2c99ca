"""Base class of the estimators for dask collections."""

import warnings
from functools import partial
from typing import ClassVar

import numpy as np
from dask import compute, is_dask_collection
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from ngdt._core.quantiles import check_quantiles
from ngdt._core.r2 import r2
from ngdt._encoding.check_targets import check_names_of_targets
from ngdt._util.stopped import Stopped


class DaskEstimator:
    """Estimator of ngdt that is trained on partitions, with lazy predictions for collections.

    A subclass sets `_in_memory_class` and `_fit_on_partitions`.
    """

    _in_memory_class: ClassVar[type]

    def in_memory(self):
        """The estimator of ngdt with the same parameters and fitted attributes.

        Returns
        -------
        estimator of ngdt
            Of the class of the same name.
        """
        estimator, parameters = self._unfitted(), self.get_params(deep=False)
        vars(estimator).update({
            name: value for name, value in vars(self).items() if name not in parameters})
        return estimator

    def _unfitted(self):
        """An estimator of ngdt with the same parameters, on one core."""
        return self._in_memory_class(**self.get_params(deep=False) | {"n_jobs": None})

    def _train(self, run, X, y, sample_weight, validation):
        """Train on the partitions."""
        validation.refuse(f"ngdt.dask.{type(self).__name__}")
        estimator = self._unfitted()
        try:
            finish, run.interrupted = self._fit_on_partitions(
                estimator, X, y, sample_weight, run.control, self.n_jobs)
        except Stopped as stopped:      # an initial tree, before anything is trained
            raise KeyboardInterrupt from stopped
        # After Ctrl-C, it is called again: it reads the partitions several times.
        run.result = lambda: estimator._columns() | finish()

    def _set_fitted(self, run):
        fitted = run.result()
        for name in [each for each in vars(self) if each.endswith("_") or each == "_edits"]:
            delattr(self, name)     # of an earlier fit, such as the names of its columns
        vars(self).update(fitted)

    def score(self, X, y, sample_weight=None):
        """Accuracy or, of a regressor, the coefficient of determination.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
        y : dask array or series, or array-like, of shape (n_samples,) or (n_samples, n_outputs)
            Targets and predictions of all samples have to fit into the memory of this process.
        sample_weight : as y, of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        # Not by the method of scikit-learn, since partitions of data frames have unknown lengths.
        with warnings.catch_warnings():     # for predictions are arrays, also of a data frame
            warnings.filterwarnings("ignore", "Computing mixed collections", UserWarning)
            predicted, y, sample_weight = compute(self.predict(X), y, sample_weight)
        if not is_classifier(self):
            check_names_of_targets(self._targets, y)
        metric = accuracy_score if is_classifier(self) else r2
        return metric(y, predicted, sample_weight=sample_weight)

    def encode(self, X):
        """Encode a table as the features that splits weigh, as in memory.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_encoded_features)
            Lazy. Of samples in memory, an ndarray or a CSR matrix.
        """
        check_is_fitted(self)
        dtype = X.dtype if getattr(X, "dtype", None) == np.float32 else np.float64
        return self._by_blocks("encode", X, dtype, (len(self.encoded_feature_names_),))

    def _read(self, X):
        """Read a table in memory; a collection is refused, since all of it would be loaded."""
        if is_dask_collection(X):
            raise TypeError(
                "X must be in memory for this method, got a dask collection: compute a part of it "
                "first, such as X[:100].compute() or frame.head(100)")
        return super()._read(X)

    def _predicted(self, X, *args):
        """Predictions, as `predict` returns them."""
        check_is_fitted(self)
        dtype = getattr(self, "classes_", np.empty(0)).dtype
        shape = () if self.n_outputs_ == 1 else (self.n_outputs_,)
        return self._by_blocks("predict", X, dtype, shape, *args)

    def _probabilities(self, name, X, *args):
        """Result of a method that returns a column for each class."""
        check_is_fitted(self)
        return self._by_blocks(name, X, np.float64, (self.n_classes_,), *args)

    def _quantiles(self, X, quantiles, *args):
        """Quantiles, as `predict_quantiles` returns them."""
        check_is_fitted(self)
        quantiles = check_quantiles(quantiles)
        shape = (len(quantiles),) if self.n_outputs_ == 1 else (len(quantiles), self.n_outputs_)
        return self._by_blocks("predict_quantiles", X, np.float64, shape, quantiles, *args)

    def _by_blocks(self, name, X, dtype, shape, *args):
        """Result of a method; lazy, partition by partition, if X is a collection."""
        if not is_dask_collection(X):
            return getattr(super(), name)(X, *args)
        check_is_fitted(self)
        empty = np.empty((0, *shape), dtype=dtype)
        model = self.in_memory()
        if hasattr(model, "callback"):      # it may hold objects that cannot be sent
            model.callback = None
        vars(model).pop("_skl_callbacks", None)
        predict = partial(_unless_empty, getattr(model, name), empty, args)
        if hasattr(X, "divisions"):
            return X.map_partitions(predict, meta=empty)
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        # The result has the axis of the samples, then the axes of `shape`.
        axes = {"chunks": (X.chunks[0], *shape)} if shape else {"drop_axis": 1}
        if len(shape) > 1:
            axes["new_axis"] = list(range(2, 1 + len(shape)))
        return X.map_blocks(predict, dtype=dtype, meta=empty, **axes)


def _unless_empty(method, empty, args, X):
    """Predictions for a partition, which may have no samples."""
    return method(X, *args) if X.shape[0] else empty
