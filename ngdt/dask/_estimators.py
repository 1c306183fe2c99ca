"""Trees for dask collections."""

import numpy as np

from ngdt import _estimators
from ngdt.dask._collections import DaskEstimator
from ngdt.dask._fit import fit_tree


class DaskTree(DaskEstimator):
    """Base class of the trees for dask collections."""

    _fit_on_partitions = staticmethod(fit_tree)

    @property
    def partial_fit(self):
        raise AttributeError("ngdt.dask has no partial_fit: fit takes collections of any size")

    @property
    def cost_complexity_pruning_path(self):
        raise AttributeError(
            "ngdt.dask has no cost_complexity_pruning_path: that of ngdt takes a sample in memory")

    def apply(self, X, check_input=True):
        """Leaf that each sample reaches.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
        check_input : bool, default=True
            As in memory.

        Returns
        -------
        dask array of int32, shape (n_samples,)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._by_blocks("apply", X, np.int32, (), check_input)

    def predict(self, X, check_input=True):
        """Predictions.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
        check_input : bool, default=True
            As in memory.

        Returns
        -------
        dask array of shape (n_samples,) or, for several targets, (n_samples, n_outputs)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._predicted(X, check_input)


class ObliqueTreeClassifier(DaskTree, _estimators.ObliqueTreeClassifier):
    """Classification tree that is trained where the partitions of dask collections are.

    Replicas of the tree take steps of its optimizer on several partitions at the same time, and are
    averaged after every few steps. Leaves, validation, and the comparison with the baseline follow
    from sums over all partitions. See :ref:`distributed`.

    It has the parameters and, once fitted, the attributes of
    :class:`ngdt.ObliqueTreeClassifier`, with these differences:

    Parameters
    ----------
    init : as in memory, default="auto"
        The initial tree, which is made from at most 100 000 of the samples.
    optimizer : {"auto", "annealed", "sgd", "ssgd"}, Annealed, SGD, SSGD or None, default="auto"
        "auto" is "annealed". None keeps the initial tree, with leaves that fit all samples.
    loss : {"log_loss", "bounded"}, Loss or None, default=None
    leaf : {"auto", "constant"}, default="constant"
    validation_fraction : float in [0, 1), "auto" or None, default="auto"
        "auto" is a tenth.
    n_jobs : int or None, default=None
        Number of partitions that are trained on at the same time; None is 4, -1 all. The tree
        depends on it, and not on the workers.
    monotonic_cst, max_time, warm_start, checkpoint
        Not available. If a worker ends, the training goes on without a checkpoint.
    **parameters
        All others are as in memory.

    See Also
    --------
    ngdt.ObliqueTreeClassifier : The same for samples in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from ngdt.dask import ObliqueTreeClassifier
    >>> from ngdt.optimizers import Annealed
    >>> from sklearn.datasets import load_iris
    >>> X, y = (da.from_array(each, chunks=50) for each in load_iris(return_X_y=True))
    >>> tree = ObliqueTreeClassifier(
    ...     max_depth=3, optimizer=Annealed(steps=50), random_state=0).fit(X, y)
    >>> tree.predict(X).chunks
    ((50, 50, 50),)
    >>> bool((tree.predict(X) == y).mean().compute() > 0.9)
    True
    """

    _in_memory_class = _estimators.ObliqueTreeClassifier

    def predict_proba(self, X, check_input=True):
        """Probability of each label.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
        check_input : bool, default=True
            As in memory.

        Returns
        -------
        dask array of shape (n_samples, n_classes)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._probabilities("predict_proba", X, check_input)

    def predict_log_proba(self, X, check_input=True):
        """Logarithm of the probability of each label.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
        check_input : bool, default=True
            As in memory.

        Returns
        -------
        dask array of shape (n_samples, n_classes)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._probabilities("predict_log_proba", X, check_input)


class ObliqueTreeRegressor(DaskTree, _estimators.ObliqueTreeRegressor):
    """Regression tree that is trained where the partitions of dask collections are.

    As :class:`ngdt.dask.ObliqueTreeClassifier`. It has the parameters and, once fitted, the
    attributes of :class:`ngdt.ObliqueTreeRegressor`, with the differences that are listed there;
    the loss is "squared_error".

    See Also
    --------
    ngdt.ObliqueTreeRegressor : The same for samples in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from ngdt.dask import ObliqueTreeRegressor
    >>> from ngdt.optimizers import Annealed
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = (da.from_array(each, chunks=150) for each in load_diabetes(return_X_y=True))
    >>> tree = ObliqueTreeRegressor(
    ...     max_depth=2, optimizer=Annealed(steps=50), random_state=0).fit(X, y)
    >>> tree.predict(X).shape
    (442,)
    """

    _in_memory_class = _estimators.ObliqueTreeRegressor

    def predict_quantiles(self, X, quantiles=(0.1, 0.5, 0.9), check_input=True):
        """Quantiles of the training targets in the leaves, as in memory.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
        quantiles : array-like of float, shape (n_quantiles,), default=(0.1, 0.5, 0.9)
        check_input : bool, default=True
            As in memory.

        Returns
        -------
        dask array of shape (n_samples, n_quantiles) or, for several targets, \
                (n_samples, n_quantiles, n_outputs)
            Lazy. Of samples in memory, an ndarray.
        """
        return self._quantiles(X, quantiles, check_input)
