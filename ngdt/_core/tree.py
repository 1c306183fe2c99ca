"""The flat tree: arrays, no pointers, two id spaces. Its kernels are those of `FlatTree`.

Internal nodes are numbered 0..m-1, leaves 0..m. A child id >= 0 is an internal node, a negative id
is the leaf ~id. Parents come before children, so one forward pass over the arrays visits parents
first and one backward pass visits children first.
"""

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from ngdt._core import structure
from ngdt._core.flat_tree import FlatTree
from ngdt._core.tree_arrays import (
    check_lengths,
    checked_arrays,
    checked_leaves,
    checked_weights,
    numbers,
    sparse_is_faster,
)
from ngdt._util.parallel import map_ranges
from ngdt._util.validation import check_matrix

# Samples per internal node from which a copy with dense weights is worth its cost.
_SAMPLES_PER_NODE_TO_DENSIFY = 32
# Values of X from which a further thread is worth its start.
_VALUES_PER_THREAD = 2**17


class Tree(FlatTree):
    """A binary tree with linear splits and constant or linear leaves, stored as flat arrays.

    Node `i` sends a sample `x` to the right where its score `weights[i] @ x - thresholds[i]` is
    positive, else to the left. Leaf `l` predicts `values[l]` or, where the leaves are linear,
    `values[l] + slopes[l] @ x`, clipped to `ranges[l]`.

    Parameters
    ----------
    weights : array-like or sparse matrix of shape (n_internal, n_features)
        One row of split weights per internal node. Sparse weights stay sparse.
    thresholds : array-like of shape (n_internal,)
        What the weighted sum of a sample must exceed to go right.
    children_left, children_right : array-like of int, shape (n_internal,)
        A value >= 0 is the id of an internal node, greater than that of its parent; a negative
        value is `~leaf`. Node 0 is the root.
    values : array-like of shape (n_internal + 1, n_outputs)
        Leaf parameters: unnormalised log-probabilities of the classes, or regression values.
    slopes : array-like of shape (n_internal + 1, n_outputs, n_features), default=None
        Weights of the features in linear leaves. None makes constant leaves.
    ranges : array-like of shape (n_internal + 1, n_outputs, 2), default=None
        Smallest and largest prediction of linear leaves. None sets no limits.

    Attributes
    ----------
    weights : ndarray or csr_array of shape (n_internal, n_features)
        Split weights, read-only float64. Sparse ones have ascending columns and no stored zeros.
    thresholds, children_left, children_right, values : ndarray
        The arrays above, read-only, in float64 and int32.
    slopes, ranges : ndarray or None
        The arrays above. Both are None where the leaves are constant.
    is_sparse : bool
        Whether only the nonzeros of `weights` are stored.
    n_nonzero : int
        Number of weights that are not zero; thresholds do not count.
    nbytes : int
        Size of all these arrays in bytes, about that of the pickled tree.
    n_internal, n_leaves, n_features, n_outputs, max_depth : int
        Sizes; `n_leaves == n_internal + 1`, and `max_depth` counts the edges of the longest path.

    Raises
    ------
    ValueError
        If a shape does not fit, a number is not finite, or the children do not form one tree.
    TypeError
        If an array holds something other than numbers.

    Notes
    -----
    Arrays are copied, so later changes to the arguments do not reach the tree.

    Dense and sparse weights of the same numbers give the same scores to the last bit, for dense and
    for sparse samples, and the trees are equal. With sparse weights, memory and the cost of a
    decision are those of the nonzeros.

    In the notation of Norouzi et al. (2015): `weights` is W, `thresholds` the weight of the
    constant feature -1, `values` Theta, and `apply` the navigation function f(sgn(Wx)).

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import Tree
    >>> tree = Tree(weights=[[1.0, -1.0]], thresholds=[0.0], children_left=[~0],
    ...             children_right=[~1], values=[[0.0], [1.0]])
    >>> tree
    Tree(n_internal=1, n_leaves=2, n_features=2, n_outputs=1, max_depth=1)
    >>> tree.apply(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([1, 0], dtype=int32)
    """

    __slots__ = ()

    def __init__(self, weights, thresholds, children_left, children_right, values, slopes=None,
                 ranges=None):
        super().__init__(*checked_arrays(
            weights, thresholds, children_left, children_right, values, slopes, ranges))

    @classmethod
    def from_sklearn(cls, estimator):
        """Convert a fitted scikit-learn decision tree.

        Parameters
        ----------
        estimator : DecisionTreeClassifier, DecisionTreeRegressor or their ExtraTree siblings
            Fitted. Class frequencies become log-probabilities, zero frequencies a log of 1e-6.

        Returns
        -------
        Tree
            Takes the same decisions. scikit-learn rounds samples to float32 first; thresholds are
            kept as they are. The sides of missing values are not kept: as an initial tree, it takes
            the mean for a missing number.

        Raises
        ------
        TypeError
            If the estimator is no decision tree of scikit-learn.
        ValueError
            If it has several class outputs, or a split that asks whether a number is missing.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ngdt import Tree
        >>> Tree.from_sklearn(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)))
        Tree(n_internal=2, n_leaves=3, n_features=4, n_outputs=3, max_depth=2)
        """
        return cls(*_arrays_of_sklearn(estimator))

    def sparsify(self):
        """The tree with sparse rows of weights, which takes the same decisions.

        Returns
        -------
        Tree
            The tree itself if its weights are sparse.

        Examples
        --------
        >>> from ngdt import Tree
        >>> tree = Tree([[0.0, 2.0, 0.0]], [1.0], [~0], [~1], [[0.0], [1.0]]).sparsify()
        >>> tree.is_sparse, tree.n_nonzero
        (True, 1)
        """
        if self.is_sparse:
            return self
        return type(self)(sparse.csr_array(self._dense), *self._arrays()[1:])

    def densify(self):
        """The tree with dense rows of weights, which takes the same decisions.

        Returns
        -------
        Tree
            The tree itself if its weights are dense.
        """
        return type(self)(self.weights.toarray(), *self._arrays()[1:]) if self.is_sparse else self

    def compact(self):
        """The tree with its weights in the form, dense or sparse, that takes less memory.

        Many samples at once take about as long in the smaller form; a few are sooner decided with
        dense rows where more than about an eighth of the weights are not zero.

        Returns
        -------
        Tree
            The tree itself if its weights are in that form.

        Examples
        --------
        >>> from ngdt import Tree
        >>> tree = Tree([[0.0, 2.0, 0.0, 0.0]], [1.0], [~0], [~1], [[0.0], [1.0]])
        >>> tree.compact().is_sparse
        True
        """
        # A nonzero has a column, a row a start (twice, in two types).
        sparse_bytes = 12 * (self.n_nonzero + self.n_internal)
        dense_bytes = 8 * self.n_internal * self.n_features
        return self.sparsify() if sparse_bytes < dense_bytes else self.densify()

    @property
    def nbytes(self):
        # Described among the attributes of `Tree`.
        return sum(each.nbytes for each in self._stored() if each is not None)

    def leaf_arrays(self, leaves=slice(None)):
        """Predictions of some leaves, as arguments of the constructor and of `replace`.

        Parameters
        ----------
        leaves : slice or array-like of int, default=all

        Returns
        -------
        dict
            `values`, `slopes` and `ranges`. The last two are None where the leaves are constant.
        """
        arrays = {"values": self.values, "slopes": self.slopes, "ranges": self.ranges}
        return {name: None if each is None else each[leaves] for name, each in arrays.items()}

    def make_constant(self, leaves, values):
        """The tree with some leaves replaced by constant ones.

        Parameters
        ----------
        leaves : array-like of int, or of bool for all leaves
        values : array-like of shape (n, n_outputs)
            One row for each of these leaves.

        Returns
        -------
        Tree
            The tree itself if there are no such leaves.

        Examples
        --------
        >>> from ngdt import Tree
        >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]], slopes=[[[2.0]], [[3.0]]])
        >>> tree.make_constant([1], [[7.0]]).predict([[-1.0], [1.0]]).tolist()
        [[-2.0], [7.0]]
        """
        leaves = np.arange(self.n_leaves)[leaves]
        if not len(leaves):
            return self
        arrays = self.leaf_arrays(np.arange(self.n_leaves))     # copies
        arrays["values"][leaves] = values
        if self.slopes is not None:
            arrays["slopes"][leaves] = 0.0
        if self.ranges is not None:
            arrays["ranges"][leaves] = np.asarray(values)[..., None]
        return self.replace(**arrays)

    def replace_leaves(self, trees):
        """The tree with other trees in the place of some leaves.

        Parameters
        ----------
        trees : dict of int to Tree
            By the number of the leaf that each of them replaces.

        Returns
        -------
        Tree
            Its splits come first, as they are.

        Raises
        ------
        ValueError
            If there is no such leaf, or if a tree is for other features or outputs.

        Examples
        --------
        >>> from ngdt import Tree
        >>> top = Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[0.0], [0.0]])
        >>> below = Tree([[0.0, 1.0]], [0.0], [~0], [~1], [[1.0], [2.0]])
        >>> top.replace_leaves({1: below}).predict([[-1, -1], [1, -1], [1, 1]]).tolist()
        [[0.0], [1.0], [2.0]]
        """
        if not isinstance(trees, Mapping):
            raise TypeError(
                f"trees must be a dict of numbers of leaves to trees, got {type(trees).__name__}")
        for leaf, tree in trees.items():
            check_is_tree(tree)
            if not 0 <= leaf < self.n_leaves:
                raise ValueError(f"there is no leaf {leaf}: leaves are 0 to {self.n_leaves - 1}")
            if (tree.n_features, tree.n_outputs) != (self.n_features, self.n_outputs):
                raise ValueError(
                    f"the tree for leaf {leaf} has n_features={tree.n_features} and n_outputs="
                    f"{tree.n_outputs}, not {self.n_features} and {self.n_outputs}")
        return type(self)(*structure.grafted(
            self, {~leaf: tree for leaf, tree in trees.items()})) if trees else self

    def replace(self, *, weights=None, thresholds=None, values=None, slopes=None, ranges=None):
        """The tree with some of its arrays replaced; the structure stays.

        Parameters
        ----------
        weights, thresholds, values : array-like, default=None
            As for the constructor. None keeps those of the tree.
        slopes, ranges : array-like, default=None
            As for the constructor, and only together with `values`: all that leaves predict is
            replaced at once. `values` alone makes constant leaves, `values` and `slopes` linear
            ones without limits.

        Returns
        -------
        Tree

        Raises
        ------
        ValueError
            If there are `slopes` or `ranges` without `values`, or if an array does not fit.

        Examples
        --------
        >>> from ngdt import Tree
        >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
        >>> tree.replace(values=[[0.0], [2.0]]).predict([[3.0]])
        array([[2.]])

        What is not to change about linear leaves is given again:

        >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]], slopes=[[[2.0]], [[3.0]]])
        >>> tree.replace(**tree.leaf_arrays() | {"ranges": [[[-1.0, 0.0]], [[1.0, 4.0]]]})
        Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=1, max_depth=1)
        """
        if values is None and not (slopes is None and ranges is None):
            raise ValueError(
                f"{'ranges' if slopes is None else 'slopes'} must be given together with values: "
                "use **tree.leaf_arrays() | {...}, which has those of the tree")
        dense, csr, shape = self._dense, self._csr, (self.n_internal, self.n_features)
        # Only what is new is checked; arrays that stay are shared, as nobody can write to them.
        if weights is not None:
            dense, csr, shape = checked_weights(weights)
        thresholds = (
            self.thresholds if thresholds is None else numbers("thresholds", thresholds, 1))
        check_lengths(shape[0], thresholds, self.children_left, self.children_right)
        leaves = (self.values, self.slopes, self.ranges) if values is None else (
            values, slopes, ranges)
        if values is not None or shape[1] != self.n_features:
            leaves = checked_leaves(shape, *leaves)
        tree = type(self).__new__(type(self))
        FlatTree.__init__(
            tree, dense, csr, shape[1], thresholds, self.children_left, self.children_right,
            *leaves, self._node_depths, self._leaf_depths)
        return tree

    def copy(self):
        """An equal tree with arrays of its own."""
        return type(self)(*self._arrays())

    def _arrays(self):
        return (self.weights, self.thresholds, self.children_left, self.children_right,
                self.values, self.slopes, self.ranges)

    def _stored(self):
        return (*(self._csr or (self._dense,)), *self._arrays()[1:])

    def __reduce__(self):
        # Unpickling goes through __init__, so a damaged pickle meets the same checks.
        return type(self), self._arrays()

    def __eq__(self, other):
        """Same structure and same numbers, however the weights are stored."""
        if not isinstance(other, Tree):
            return NotImplemented
        if self.is_sparse != other.is_sparse:
            self, other = self.sparsify(), other.sparsify()
        return self.n_features == other.n_features and all(
            map(np.array_equal, self._stored(), other._stored()))

    __hash__ = None

    def __repr__(self):
        stored = f", n_nonzero={self.n_nonzero}, is_sparse=True" if self.is_sparse else ""
        return (
            f"Tree(n_internal={self.n_internal}, n_leaves={self.n_leaves}, "
            f"n_features={self.n_features}, n_outputs={self.n_outputs}, "
            f"max_depth={self.max_depth}{stored})")

    def _check_samples(self, X):
        """The samples of any matrix, checked."""
        return self.samples_of(check_matrix(X))

    def apply(self, X):
        """Leaf that each sample reaches.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32, shape (n_samples,)
        """
        return self.apply_samples(self._check_samples(X))

    def _form_for(self, data, n):
        """The tree with dense or sparse weights, whichever routes n samples sooner.

        Both take the same decisions. Many samples are worth a copy with dense weights, unless few
        weights are not zero.
        """
        if n < _SAMPLES_PER_NODE_TO_DENSIFY * self.n_internal:
            return self
        # Dense weights meet only the stored values of a sparse sample: one by one, as sparse ones.
        few = data.is_sparse and self.n_nonzero < data.mean_stored * self.n_internal
        if few or sparse_is_faster(self.n_nonzero, self.n_internal * self.n_features):
            return self
        return self.densify()

    def apply_samples(self, data, samples=None, start=None):
        """Leaf that each of some samples reaches, without copying them out.

        Parameters
        ----------
        data : Samples
            Of as many features as the tree has.
        samples : ndarray of int32, shape (n,), default=None
            Indices of the samples. None stands for all of them.
        start : ndarray of int32, shape (n,), default=None
            Where the path of each sample starts: the id of an internal node, or ``~leaf``. None
            stands for the root.

        Returns
        -------
        ndarray of int32, shape (n,)

        Raises
        ------
        ValueError
            If the width of `data` does not fit, or an index is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from ngdt import Tree
        >>> from ngdt._core.samples import Samples
        >>> tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[0.0], [1.0], [2.0]])
        >>> data = Samples(np.array([[-1.0], [2.0], [7.0]]))
        >>> tree.apply_samples(data, np.array([2, 0], dtype=np.int32))
        array([2, 0], dtype=int32)
        """
        # A path that starts below the root is short: dense weights are not worth a copy.
        if start is None and self.is_sparse:
            self = self._form_for(data, data.n_samples if samples is None else len(samples))
        return self._route(data, samples, start)

    def leaf_predictions(self, leaf, data=None, samples=None):
        """Prediction for samples whose leaves are known.

        Parameters
        ----------
        leaf : ndarray of int, shape (n,)
            Leaf of each sample, as `apply_samples` returns it.
        data : Samples, default=None
            The samples. Only linear leaves need them.
        samples : ndarray of int32, shape (n,), default=None
            Indices of the samples in `data`. None stands for all of them.

        Returns
        -------
        ndarray of shape (n, n_outputs)

        Examples
        --------
        >>> from ngdt import Tree
        >>> Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]]).leaf_predictions([1, 0])
        array([[3.],
               [0.]])
        """
        if self.slopes is None:
            return self.values[leaf]
        return self._predict_linear(np.asarray(leaf, dtype=np.int32), data, samples)

    def _apply_by_threads(self, data, n_jobs):
        """`apply_samples` for all samples, by several threads."""
        n = data.n_samples
        tree = self._form_for(data, n) if self.is_sparse else self
        parts = map_ranges(
            lambda first, stop: tree._route(
                data, None if stop - first == n else np.arange(first, stop, dtype=np.int32), None),
            n, n_jobs, _samples_per_thread(data))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _predict_finite(self, data, predict, n_jobs):
        """Leaves and, if `predict`, predictions of linear ones, in one pass by several threads.

        Both are None if a value may not be finite: check the data before `_apply_by_threads`.
        """
        is_linear = predict and self.slopes is not None
        leaf = np.empty(data.n_samples, dtype=np.int32)
        predictions = np.empty((data.n_samples, self.n_outputs)) if is_linear else None
        is_finite = map_ranges(
            lambda first, stop: self._route_finite(data, first, stop, leaf, predictions),
            data.n_samples, n_jobs, _samples_per_thread(data))
        if not all(is_finite):
            return None, None
        return leaf, predictions

    def predict(self, X):
        """Prediction of the leaf that each sample reaches: its values, for constant leaves.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        data = self._check_samples(X)
        return self.leaf_predictions(self.apply_samples(data), data)

    def scores(self, X):
        """Score `weights[i] @ x - thresholds[i]` of every sample at every internal node.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_internal)
        """
        return self.scores_of(self._check_samples(X))

    def decision_path(self, X):
        """Internal nodes that each sample visits.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        CSR matrix of bool, shape (n_samples, n_internal)
            True where the sample passes through the node.
        """
        return structure.decision_path(self, self.apply(X))

    def ancestors(self):
        """Internal nodes on the path to each leaf, with the direction taken there.

        Returns
        -------
        CSR matrix of int8, shape (n_leaves, n_internal)
            +1 where the path goes right, -1 where it goes left; columns from the root down.
        """
        return structure.paths(self, np.arange(self.n_leaves))

    def leaf_depths(self):
        """Depth of each leaf, that of a single leaf being 0.

        Returns
        -------
        ndarray of int32, shape (n_leaves,)
        """
        return self._leaf_depths.copy()

    def node_depths(self):
        """Depth of each internal node, the root's being 0.

        Returns
        -------
        ndarray of int32, shape (n_internal,)
        """
        return self._node_depths.copy()


def _arrays_of_sklearn(estimator):
    """Arguments of `Tree` for the tree of a fitted scikit-learn estimator."""
    from sklearn.base import is_classifier
    from sklearn.tree import BaseDecisionTree
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(estimator, BaseDecisionTree):
        raise TypeError(
            f"estimator must be a scikit-learn decision tree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    source = estimator.tree_
    values = source.value[:, :, 0]
    if is_classifier(estimator):
        if source.n_outputs != 1:
            raise ValueError("estimator has several class outputs; only one is supported")
        frequency = source.value[:, 0, :source.max_n_classes]
        frequency = frequency / frequency.sum(axis=1, keepdims=True)
        values = np.log(np.maximum(frequency, 1e-6))
    is_leaf = source.children_left < 0
    # scikit-learn numbers nodes depth first, parents first: counting keeps that order.
    ids = np.where(is_leaf, ~(np.cumsum(is_leaf) - 1), np.cumsum(~is_leaf) - 1)
    internal = np.flatnonzero(~is_leaf)
    if not np.isfinite(source.threshold[internal]).all():
        raise ValueError(
            "estimator has a split that asks whether a number is missing, which a Tree cannot: fit "
            "it without NaN, such as to X.fillna(X.mean())")
    weights = np.zeros((len(internal), source.n_features))
    weights[np.arange(len(internal)), source.feature[internal]] = 1.0
    return (
        weights, source.threshold[internal], ids[source.children_left[internal]],
        ids[source.children_right[internal]], values[is_leaf])


def _samples_per_thread(data):
    return max(1, _VALUES_PER_THREAD // max(1, data.n_features))


def check_is_tree(tree):
    """Raise a TypeError that tells where the tree is, unless it is a `Tree`.

    Parameters
    ----------
    tree : object
    """
    if not isinstance(tree, Tree):
        raise TypeError(
            f"tree must be an ngdt Tree, got {type(tree).__name__}: that of an estimator is its "
            "tree_, or Tree.from_sklearn(estimator)")
