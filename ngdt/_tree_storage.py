"""Storage of a tree: its arrays and their two forms, copies, equality and pickles."""

import numpy as np
from scipy import sparse

from ngdt._flat_tree import FlatTree
from ngdt._tree_arrays import (
    check_lengths,
    checked_arrays,
    checked_leaves,
    checked_weights,
    numbers,
)


class StoredTree(FlatTree):
    """What a `Tree` is besides its decisions and predictions."""

    __slots__ = ()

    def __init__(self, weights, thresholds, children_left, children_right, values, slopes=None,
                 ranges=None):
        super().__init__(*checked_arrays(
            weights, thresholds, children_left, children_right, values, slopes, ranges))

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
        _, *others = self._arrays()
        weights = self._csr or (self._dense,)
        return sum(each.nbytes for each in (*weights, *others) if each is not None)

    def leaf_arrays(self, leaves=slice(None)):
        """What some leaves predict, as arguments of the constructor and of `replace`.

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
        arrays = {name: each if each is None else each.copy()
                  for name, each in self.leaf_arrays().items()}
        arrays["values"][leaves] = values
        if self.slopes is not None:
            arrays["slopes"][leaves] = 0.0
        if self.ranges is not None:
            arrays["ranges"][leaves] = np.asarray(values)[..., None]
        return self.replace(**arrays)

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
        leaves = kept = self.values, self.slopes, self.ranges
        if values is not None or shape[1] != self.n_features:
            leaves = checked_leaves(
                shape, *(kept if values is None else (values, slopes, ranges)))
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

    __copy__ = copy

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        # Unpickling goes through __init__, so a damaged pickle meets the same checks.
        return type(self), self._arrays()

    def __eq__(self, other):
        """Same structure and same numbers, however the weights are stored."""
        if not isinstance(other, StoredTree):
            return NotImplemented
        if self.is_sparse != other.is_sparse:
            self, other = self.sparsify(), other.sparsify()
        return all(
            np.array_equal(a, b) for a, b in zip(self._parts(), other._parts(), strict=True))

    __hash__ = None

    def _parts(self):
        stored = (self._csr or (self._dense,)) + (self.n_features,)
        return (*stored, *self._arrays()[1:])

    def __repr__(self):
        stored = f", n_nonzero={self.n_nonzero}, is_sparse=True" if self.is_sparse else ""
        return (
            f"Tree(n_internal={self.n_internal}, n_leaves={self.n_leaves}, "
            f"n_features={self.n_features}, n_outputs={self.n_outputs}, "
            f"max_depth={self.max_depth}{stored})")
