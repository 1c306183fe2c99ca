"""The flat tree: arrays, no pointers, two id spaces. Its kernels are those of `FlatTree`.

Internal nodes are numbered 0..m-1, leaves 0..m. A child id >= 0 is an internal node, a negative id
is the leaf ~id. Parents come before children, so one forward pass over the arrays visits parents
first and one backward pass visits children first.
"""

import numpy as np

from ngdt import _structure
from ngdt._from_sklearn import convert
from ngdt._parallel import map_ranges
from ngdt._tree_json import read_tree
from ngdt._tree_storage import StoredTree
from ngdt._validation import check_matrix

# Largest share of weights that are not zero for which products with sparse weights are faster.
SPARSE_SHARE = 0.125
# Samples per internal node from which a copy with dense weights is worth its cost.
SAMPLES_PER_NODE_TO_DENSIFY = 32
# Values of X from which a further thread is worth its start.
_VALUES_PER_THREAD = 2**17


class Tree(StoredTree):
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
            kept as they are.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ngdt import Tree
        >>> Tree.from_sklearn(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)))
        Tree(n_internal=2, n_leaves=3, n_features=4, n_outputs=3, max_depth=2)
        """
        return cls(*convert(estimator))

    @classmethod
    def from_json(cls, text, *, number=None):
        """Read a tree that `ngdt.export.export_json` has written.

        Parameters
        ----------
        text : str or bytes
            The document.
        number : int, default=None
            Index of the tree, of a forest. None reads the only tree of the document.

        Returns
        -------
        Tree
            Equal to the tree that was written, to the last bit. Its weights are stored in the form
            that takes less memory.

        Raises
        ------
        ValueError
            If the text is no such document, if it is of a newer version, or if it holds several
            trees and `number` is None.

        Examples
        --------
        >>> from ngdt import Tree
        >>> from ngdt.export import export_json
        >>> tree = Tree([[1.0, -1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
        >>> Tree.from_json(export_json(tree)) == tree
        True
        """
        return read_tree(cls, text, number).compact()

    def _check_samples(self, X):
        """The samples of any matrix, checked."""
        return self._samples(check_matrix(X))

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
        if n < SAMPLES_PER_NODE_TO_DENSIFY * self.n_internal:
            return self
        few = SPARSE_SHARE * self.n_features
        if data.is_sparse:      # dense weights meet only the stored values of a sample
            few = max(few, data.mean_stored)
        return self if self.n_nonzero < few * self.n_internal else self.densify()

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
        >>> from ngdt._samples import Samples
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

        All predictions of a tree are made here.

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

    def _apply(self, data, n_jobs):
        """Leaf that each sample reaches, by several threads."""
        tree, n = self._form_for(data, data.n_samples) if self.is_sparse else self, data.n_samples
        parts = map_ranges(
            lambda first, stop: tree._route(
                data, None if stop - first == n else np.arange(first, stop, dtype=np.int32), None),
            n, n_jobs, _samples_per_thread(data))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _predict_finite(self, data, predict, n_jobs):
        """Leaves and, if wanted, predictions in one pass; None where data may not be finite."""
        is_linear = predict and self.slopes is not None
        leaf = np.empty(data.n_samples, dtype=np.int32)
        predictions = np.empty((data.n_samples, self.n_outputs)) if is_linear else None
        is_finite = map_ranges(
            lambda first, stop: self._route_finite(data, first, stop, leaf, predictions),
            data.n_samples, n_jobs, _samples_per_thread(data))
        if not all(is_finite):
            return None, None
        return leaf, self.values[leaf] if predict and not is_linear else predictions

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
        return self._scores(self._check_samples(X))

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
        return _structure.decision_path(self, self.apply(X))

    def ancestors(self):
        """Internal nodes on the path to each leaf, with the direction taken there.

        Returns
        -------
        CSR matrix of int8, shape (n_leaves, n_internal)
            +1 where the path goes right, -1 where it goes left; columns from the root down.
        """
        return _structure.paths(self, np.arange(self.n_leaves))

    def node_depths(self):
        """Depth of each internal node, the root's being 0.

        Returns
        -------
        ndarray of int32, shape (n_internal,)
        """
        return self._node_depths.copy()


def _samples_per_thread(data):
    return max(1, _VALUES_PER_THREAD // max(1, data.n_features))


def check_is_tree(tree):
    """Raise a TypeError that tells where the tree is, unless it is a `Tree`.

    Parameters
    ----------
    tree : object
    """
    if isinstance(tree, Tree):
        return
    inside = getattr(tree, "tree_", None)
    hint = "" if inside is None else (
        ": pass its tree_" if isinstance(inside, Tree) else ": pass Tree.from_sklearn of it")
    raise TypeError(f"tree must be an ngdt Tree, got {type(tree).__name__}{hint}")
