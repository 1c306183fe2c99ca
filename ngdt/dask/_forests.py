"""Forests for dask collections."""

import numpy as np

from ngdt import _forest
from ngdt.dask._collections import DaskEstimator
from ngdt.dask._forest_fit import fit_forest


class DaskForest(DaskEstimator):
    """Base class of the forests for dask collections."""

    _fit_on_partitions = staticmethod(fit_forest)

    def apply(self, X):
        """Leaf of each tree that each sample reaches.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)

        Returns
        -------
        dask array of int32, shape (n_samples, n_trees)
            Lazy. Of samples in memory, an ndarray.
        """
        n_trees = len(getattr(self, "estimators_", ()))
        return self._by_blocks("apply", X, np.int32, (n_trees,))

    def predict(self, X):
        """Predictions: the label with the largest mean probability, or the mean of the trees.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples,) or, for several targets, (n_samples, n_outputs)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._predicted(X)


class ObliqueForestClassifier(DaskForest, _forest.ObliqueForestClassifier):
    """Classification forest that is trained where the partitions of dask collections are.

    All trees are trained at the same time. Each goes from partition to partition, and takes the
    steps of its optimizer on the samples that it draws there. Leaves follow from sums over all
    partitions. See :ref:`distributed`.

    It has the parameters and, once fitted, the attributes of
    :class:`ngdt.ObliqueForestClassifier`, with these differences:

    Parameters
    ----------
    init : as in memory, default="auto"
        The initial trees, which are made from at most 100 000 of the samples.
    optimizer : {"auto", "annealed", "sgd", "ssgd"}, Annealed, SGD, SSGD or None, default="auto"
        "auto" is "annealed"; no other trees compete with these.
    loss : {"log_loss", "bounded"}, Loss or None, default=None
    bootstrap, max_samples
        "auto" is True. The same share of samples is drawn from each partition, at least one.
    leaf : {"auto", "constant"}, default="auto"
    class_weight : dict, "balanced" or None, default=None
    n_jobs : int or None, default=None
        Number of partitions that are trained on at the same time; None is 4, -1 all. The trees
        depend on it, and not on the workers.
    oob_score, monotonic_cst, max_time, warm_start, checkpoint
        Not available. If a worker ends, the training goes on without a checkpoint.
    **parameters
        All others are as in memory.

    See Also
    --------
    ngdt.ObliqueForestClassifier : The same for samples in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from ngdt.dask import ObliqueForestClassifier
    >>> from ngdt.optimizers import Annealed
    >>> from sklearn.datasets import load_iris
    >>> X, y = (da.from_array(each, chunks=50) for each in load_iris(return_X_y=True))
    >>> forest = ObliqueForestClassifier(
    ...     3, max_depth=3, optimizer=Annealed(steps=100), random_state=0).fit(X, y)
    >>> forest.predict(X).chunks
    ((50, 50, 50),)
    >>> bool((forest.predict(X) == y).mean().compute() > 0.9)
    True
    """

    _in_memory_class = _forest.ObliqueForestClassifier

    def predict_proba(self, X):
        """Mean of the probabilities that the trees give each label.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_classes)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._probabilities("predict_proba", X)

    def predict_log_proba(self, X):
        """Logarithm of the mean probability of each label.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_classes)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._probabilities("predict_log_proba", X)


class ObliqueForestRegressor(DaskForest, _forest.ObliqueForestRegressor):
    """Regression forest that is trained where the partitions of dask collections are.

    As :class:`ngdt.dask.ObliqueForestClassifier`. It has the parameters and, once fitted, the
    attributes of :class:`ngdt.ObliqueForestRegressor`, with the differences that are listed there;
    the loss is "squared_error".

    See Also
    --------
    ngdt.ObliqueForestRegressor : The same for samples in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from ngdt.dask import ObliqueForestRegressor
    >>> from ngdt.optimizers import Annealed
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = (da.from_array(each, chunks=150) for each in load_diabetes(return_X_y=True))
    >>> forest = ObliqueForestRegressor(
    ...     3, max_depth=2, optimizer=Annealed(steps=100), random_state=0).fit(X, y)
    >>> forest.predict(X).shape
    (442,)
    """

    _in_memory_class = _forest.ObliqueForestRegressor

    def predict_quantiles(self, X, quantiles=(0.1, 0.5, 0.9)):
        """Quantiles of the training targets in the leaves, as in memory.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
        quantiles : array-like of float, shape (n_quantiles,), default=(0.1, 0.5, 0.9)

        Returns
        -------
        dask array of shape (n_samples, n_quantiles) or, for several targets, \
                (n_samples, n_quantiles, n_outputs)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._quantiles(X, quantiles)
