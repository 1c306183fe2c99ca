"""The flat tree: five arrays, no pointers, two id spaces.

Internal nodes are numbered 0..m-1, leaves 0..m. A child id >= 0 is an internal node, a negative id
is the leaf ~id. Parents come before children, so one forward pass over the arrays visits parents
first and one backward pass visits children first.
"""

import numpy as np
from scipy import sparse

from ngdt._validation import check_matrix
from ngdt._validation import depths, integers, numbers, sparse_numbers

from libc.math cimport isfinite

# Share of weights that are not zero up to which sparse rows are the faster ones to multiply with;
# samples per node from which dense ones are worth making.
SPARSE_SHARE, MANY = 0.125, 32


cdef class Tree:
    """A binary tree with linear splits, stored as five flat arrays.

    Node `i` sends a sample `x` to the right where its score `weights[i] @ x - thresholds[i]` is
    positive, else to the left.

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

    Attributes
    ----------
    weights : ndarray or csr_array of shape (n_internal, n_features)
        Split weights, read-only float64. Sparse ones have ascending columns and no stored zeros.
    thresholds, children_left, children_right, values : ndarray
        The arrays above, read-only, in float64 and int32.
    is_sparse : bool
        Whether only the nonzeros of `weights` are stored.
    n_nonzero : int
        Number of weights that are not zero; thresholds do not count.
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

    def __init__(self, weights, thresholds, children_left, children_right, values):
        dense = csr = None
        if sparse.issparse(weights):
            csr, shape = sparse_numbers("weights", weights)
        else:
            dense = numbers("weights", weights, 2)
            shape = dense.shape
        thresholds = numbers("thresholds", thresholds, 1)
        left = integers("children_left", children_left)
        right = integers("children_right", children_right)
        values = numbers("values", values, 2)
        m, p = shape
        for name, array in (
                ("thresholds", thresholds), ("children_left", left), ("children_right", right)):
            if len(array) != m:
                raise ValueError(f"{name} has {len(array)} entries, but weights has {m} rows")
        if len(values) != m + 1:
            raise ValueError(
                f"values must have one row per leaf, {m + 1} for {m} internal nodes, "
                f"got {len(values)}")
        if p == 0:
            raise ValueError("weights must have at least one column (feature)")
        if values.shape[1] == 0:
            raise ValueError("values must have at least one column (output)")
        max_depth = depths(left.tolist(), right.tolist()).max()
        # Kernels follow these blindly: none is set before all are checked.
        self.thresholds = self._thresholds = thresholds
        self.children_left = self._left = left
        self.children_right = self._right = right
        self.values = values
        self.n_internal, self.n_features, self.n_outputs = m, p, values.shape[1]
        self.max_depth = max_depth
        self._set_weights(dense, csr)

    cdef void _set_weights(self, dense, csr):
        cdef Py_ssize_t address
        self.is_sparse = dense is None
        self._dense, self._csr = dense, csr
        self._weights = dense
        if self.is_sparse:
            data, columns, starts = csr
            self._starts = starts.astype(np.int64)
            address = data.ctypes.data
            self._nonzeros = <const double *> address
            address = columns.ctypes.data
            self._columns = <const int32_t *> address

    @property
    def weights(self):
        if not self.is_sparse:
            return self._dense
        # Made anew each time: a scipy matrix lets itself be changed, its buffers do not.
        return sparse.csr_array(self._csr, shape=(self.n_internal, self.n_features))

    @property
    def n_nonzero(self):
        return len(self._csr[0]) if self.is_sparse else int(np.count_nonzero(self._dense))

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

    def dense_weights(self, nodes):
        """Weights of some nodes as a dense array, whatever the tree stores.

        Parameters
        ----------
        nodes : slice or array-like of int

        Returns
        -------
        ndarray of shape (n_nodes, n_features)
        """
        weights = self.weights[nodes]
        return weights.toarray() if self.is_sparse else weights

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
        weights = np.zeros((len(internal), source.n_features))
        weights[np.arange(len(internal)), source.feature[internal]] = 1.0
        return cls(
            weights, source.threshold[internal], ids[source.children_left[internal]],
            ids[source.children_right[internal]], values[is_leaf])

    @property
    def n_leaves(self):
        return self.n_internal + 1

    def _check(self, X):
        return self._read(check_matrix(X))

    def _read(self, X):
        """Rows of a matrix that was checked, which kernels will take to be as wide as the tree."""
        rows = Samples(X)
        if rows.n_features != self.n_features:
            raise ValueError(
                f"X has {rows.n_features} features, but the tree was built for {self.n_features}")
        return rows

    def apply(self, X):
        """Leaf that each sample reaches.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32, shape (n_samples,)
        """
        return self._apply(self._check(X))

    cdef Tree _for(self, Samples rows, Py_ssize_t n_samples):
        """The tree in the form that decides so many of the rows sooner, since both decide alike.

        Many samples are worth a copy with dense rows of weights, unless few weights are not zero.
        """
        if not self.is_sparse or n_samples < MANY * self.n_internal:
            return self
        few = SPARSE_SHARE * self.n_features
        if rows.is_sparse:      # of which a dense row of weights meets only the stored values
            few = max(few, rows.mean_stored)
        return self if self.n_nonzero < few * self.n_internal else self.densify()

    def _apply(self, Samples rows):
        """`apply` on data that were checked before."""
        cdef Tree tree = self._for(rows, rows.n_samples)
        out = np.empty(rows.n_samples, dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Reader reader = Reader(rows, tree.is_sparse)
        cdef Py_ssize_t i
        cdef Sample row
        with nogil:
            for i in range(rows.n_samples):
                reader.prefetch(i + 1)
                row = reader.get(i)
                leaf[i] = tree.leaf_of(&row)
        return out

    def _apply_unless_suspect(self, Samples rows):
        """`apply`, or None where a value of the data may not be finite.

        The root multiplies all of them with finite weights: a NaN or infinity makes its score one
        too. So can finite values, if they are huge: None is no verdict. Sparse weights skip values.
        """
        cdef Tree tree = self._for(rows, rows.n_samples)
        if tree.n_internal == 0 or tree.is_sparse:
            return None
        out = np.empty(rows.n_samples, dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Py_ssize_t i
        cdef Sample row
        cdef double score
        cdef bint suspect = False
        with nogil:
            for i in range(rows.n_samples):
                rows.prefetch_all(i + 1)
                row = rows.get(i)
                score = tree.score(&row, 0)
                if not isfinite(score):
                    suspect = True
                    break
                leaf[i] = tree.leaf_below(&row, tree.child(0, score))
        return None if suspect else out

    def _apply_at(self, Samples rows, const int32_t[::1] samples):
        """`apply` to some of the rows, without copying them out."""
        cdef Tree tree = self._for(rows, samples.shape[0])
        out = np.empty(samples.shape[0], dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Reader reader = Reader(rows, tree.is_sparse)
        cdef Py_ssize_t i
        cdef Sample row
        with nogil:
            for i in range(samples.shape[0]):
                if i + 1 < samples.shape[0]:
                    reader.prefetch(samples[i + 1])
                row = reader.get(samples[i])
                leaf[i] = tree.leaf_of(&row)
        return out

    def _apply_below(self, Samples rows, const int32_t[::1] samples, const int32_t[::1] start):
        """`_apply_at`, each sample from a node of its own: an id, or ~leaf."""
        out = np.empty(samples.shape[0], dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Reader reader = Reader(rows, self.is_sparse)
        cdef Py_ssize_t i
        cdef Sample row
        with nogil:
            for i in range(samples.shape[0]):
                if i + 1 < samples.shape[0] and start[i + 1] >= 0:
                    reader.prefetch(samples[i + 1])
                row = reader.get(samples[i])
                leaf[i] = self.leaf_below(&row, start[i])
        return out

    def predict(self, X):
        """Parameters of the leaf that each sample reaches.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        return self.values[self.apply(X)]

    def scores(self, X):
        """Score `weights[i] @ x - thresholds[i]` of every sample at every internal node.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_internal)
        """
        cdef Samples rows = self._check(X)
        cdef Reader reader = Reader(rows, self.is_sparse)
        out = np.empty((rows.n_samples, self.n_internal))
        cdef double[:, ::1] score = out
        cdef Py_ssize_t i
        cdef int node
        cdef Sample row
        with nogil:
            for i in range(rows.n_samples):
                row = reader.get(i)
                for node in range(self.n_internal):
                    score[i, node] = self.score(&row, node)
        return out

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
        return self._paths_to(self.apply(X))

    def _paths_to(self, leaf):
        """`decision_path` of samples that reach these leaves."""
        paths = self.ancestors()
        lengths = np.diff(paths.indptr)[leaf]
        ends = np.cumsum(lengths)
        start = np.repeat(paths.indptr[leaf] - (ends - lengths), lengths)
        indices = paths.indices[start + np.arange(lengths.sum())]
        indptr = np.concatenate([[0], ends])
        return sparse.csr_matrix(
            (np.ones(len(indices), dtype=bool), indices, indptr),
            shape=(len(leaf), self.n_internal))

    def ancestors(self):
        """Internal nodes on the path to each leaf, with the direction taken there.

        Returns
        -------
        CSR matrix of int8, shape (n_leaves, n_internal)
            +1 where the path goes right, -1 where it goes left; columns from the root down.
        """
        paths = {0: []} if self.n_internal else {~0: []}
        for node in range(self.n_internal):
            path = paths.pop(node)
            paths[self.children_left[node]] = [*path, (node, -1)]
            paths[self.children_right[node]] = [*path, (node, 1)]
        steps = [paths[~leaf] for leaf in range(self.n_leaves)]
        indptr = np.concatenate([[0], np.cumsum([len(path) for path in steps])])
        flat = np.array([step for path in steps for step in path], dtype=np.int32).reshape(-1, 2)
        return sparse.csr_matrix(
            (flat[:, 1].astype(np.int8), flat[:, 0], indptr),
            shape=(self.n_leaves, self.n_internal))

    def node_depths(self):
        """Depth of each internal node, the root's being 0.

        Returns
        -------
        ndarray of int32, shape (n_internal,)
        """
        depth = np.zeros(self.n_internal, dtype=np.int32)
        for children in zip(range(self.n_internal), self.children_left, self.children_right):
            for child in children[1:]:
                if child >= 0:
                    depth[child] = depth[children[0]] + 1
        return depth

    def _children(self):
        """Left and right child of each node, in one id space: leaf j is n_internal + j."""
        children = np.stack([self.children_left, self.children_right], axis=1)
        return np.where(children < 0, self.n_internal + ~children, children)

    def _sums_below(self, at_leaf):
        """What there is at the leaves, summed up for every node, then for every leaf."""
        sums = np.concatenate([np.zeros((self.n_internal, *at_leaf.shape[1:])), at_leaf])
        for node, children in reversed(list(enumerate(self._children().tolist()))):
            for child in children:
                sums[node] += sums[child]
        return sums

    def replace(self, *, weights=None, thresholds=None, values=None):
        """The tree with some of its arrays replaced; the structure stays.

        Parameters
        ----------
        weights, thresholds, values : array-like, default=None
            As for the constructor. None keeps those of the tree.

        Returns
        -------
        Tree

        Examples
        --------
        >>> from ngdt import Tree
        >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
        >>> tree.replace(values=[[0.0], [2.0]]).predict([[3.0]])
        array([[2.]])
        """
        return type(self)(
            self.weights if weights is None else weights,
            self.thresholds if thresholds is None else thresholds,
            self.children_left, self.children_right, self.values if values is None else values)

    def copy(self):
        """An equal tree with arrays of its own."""
        return type(self)(*self._arrays())

    def _arrays(self):
        return (self.weights, self.thresholds, self.children_left, self.children_right,
                self.values)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        # Unpickling goes through __init__, so a damaged pickle meets the same checks.
        return type(self), self._arrays()

    def __eq__(self, other):
        """Same structure and same numbers, however the weights are stored."""
        if not isinstance(other, Tree):
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
