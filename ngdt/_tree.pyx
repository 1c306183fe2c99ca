"""The flat tree: five arrays, no pointers, two id spaces.

Internal nodes are numbered 0..m-1, leaves 0..m. A child id >= 0 is an internal node, a negative id
is the leaf ~id. Parents come before children, so one forward pass over the arrays visits parents
first and one backward pass visits children first.
"""

import numpy as np
from scipy import sparse

from ngdt._checks import check_matrix, naming

from libc.math cimport isfinite


def _depths(left, right):
    """Check that the children form one binary tree and return the depth of every leaf.

    Raises ValueError naming the array at fault: ids out of range, a child numbered before its
    parent (which every cycle contains), a node or leaf with two parents or none.
    """
    m = len(left)
    node_depth = np.zeros(m, dtype=np.int32)
    leaf_depth = np.full(m + 1, -1, dtype=np.int32)
    if m == 0:
        return np.zeros(1, dtype=np.int32)
    seen = np.zeros(m, dtype=bool)
    for node in range(m):
        for name, child in (("children_left", left[node]), ("children_right", right[node])):
            if child >= m or ~child > m:
                raise ValueError(
                    f"{name}[{node}] = {child} is out of range for {m} internal nodes "
                    f"(expected an id in {node + 1}..{m - 1}, or ~leaf in {-m - 1}..-1)")
            if 0 <= child <= node:
                raise ValueError(
                    f"{name}[{node}] = {child}: a child must come after its parent "
                    "(this also rules out cycles)")
            is_leaf = child < 0
            if (leaf_depth[~child] >= 0) if is_leaf else seen[child]:
                what = f"leaf {~child}" if is_leaf else f"node {child}"
                raise ValueError(f"{name}[{node}] = {child}: {what} already has a parent")
            if is_leaf:
                leaf_depth[~child] = node_depth[node] + 1
            else:
                seen[child] = True
                node_depth[child] = node_depth[node] + 1
    # m nodes have 2m child slots; all distinct and in range, they cover m-1 nodes and m+1 leaves.
    return leaf_depth


def _as_array(name, array, dtype, ndim):
    with naming(name):
        array = np.asarray(array)
    wanted = "integers" if np.issubdtype(dtype, np.integer) else "real numbers"
    kinds = "iu" if np.issubdtype(dtype, np.integer) else "iuf"
    if array.dtype.kind not in kinds and array.size:
        raise TypeError(f"{name} must hold {wanted}, got dtype {array.dtype}")
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got {array.ndim}")
    if wanted == "integers" and array.size and (
            array.max() > np.iinfo(dtype).max or array.min() < np.iinfo(dtype).min):
        raise ValueError(f"{name} holds ids out of range")
    array = np.array(array, dtype=dtype, order="C", copy=True)
    if wanted == "real numbers" and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    array.flags.writeable = False
    return array


cdef class Tree:
    """A binary tree with linear splits, stored as five flat arrays.

    Node `i` sends a sample `x` to the right where its score `weights[i] @ x - thresholds[i]` is
    positive, else to the left.

    Parameters
    ----------
    weights : array-like of shape (n_internal, n_features)
        One row of split weights per internal node.
    thresholds : array-like of shape (n_internal,)
        What the weighted sum of a sample must exceed to go right.
    children_left, children_right : array-like of int, shape (n_internal,)
        A value >= 0 is the id of an internal node, greater than that of its parent; a negative
        value is `~leaf`. Node 0 is the root.
    values : array-like of shape (n_internal + 1, n_outputs)
        Leaf parameters: unnormalised log-probabilities of the classes, or regression values.

    Attributes
    ----------
    weights, thresholds, children_left, children_right, values : ndarray
        The arrays above, read-only, in float64 and int32.
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
        self.weights = _as_array("weights", weights, np.float64, 2)
        self.thresholds = _as_array("thresholds", thresholds, np.float64, 1)
        self.children_left = _as_array("children_left", children_left, np.int32, 1)
        self.children_right = _as_array("children_right", children_right, np.int32, 1)
        self.values = _as_array("values", values, np.float64, 2)
        m = len(self.weights)
        for name in ("thresholds", "children_left", "children_right"):
            if len(getattr(self, name)) != m:
                raise ValueError(
                    f"{name} has {len(getattr(self, name))} entries, but weights has {m} rows")
        if len(self.values) != m + 1:
            raise ValueError(
                f"values must have one row per leaf, {m + 1} for {m} internal nodes, "
                f"got {len(self.values)}")
        if self.weights.shape[1] == 0:
            raise ValueError("weights must have at least one column (feature)")
        if self.values.shape[1] == 0:
            raise ValueError("values must have at least one column (output)")
        self.n_internal = m
        self.n_features = self.weights.shape[1]
        self.n_outputs = self.values.shape[1]
        self.max_depth = _depths(self.children_left.tolist(), self.children_right.tolist()).max()
        self._weights = self.weights
        self._thresholds = self.thresholds
        self._left = self.children_left
        self._right = self.children_right

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
        X = check_matrix(X)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the tree was built for {self.n_features}")
        return Rows(X)

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

    def _apply(self, Rows rows):
        """`apply` on data that were checked before."""
        out = np.empty(rows.n_samples, dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Py_ssize_t i
        cdef Row row
        with nogil:
            for i in range(rows.n_samples):
                rows.prefetch_all(i + 1)
                row = rows.get(i)
                leaf[i] = self.leaf_of(&row)
        return out

    def _apply_unless_suspect(self, Rows rows):
        """`apply`, or None where a value of the data may not be finite.

        The root multiplies all of them with finite weights: a NaN or infinity makes its score one
        too. So can finite values, if they are huge: None is no verdict.
        """
        if self.n_internal == 0:
            return None
        out = np.empty(rows.n_samples, dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Py_ssize_t i
        cdef Row row
        cdef double score
        cdef bint suspect = False
        with nogil:
            for i in range(rows.n_samples):
                rows.prefetch_all(i + 1)
                row = rows.get(i)
                score = self.score(&row, 0)
                if not isfinite(score):
                    suspect = True
                    break
                leaf[i] = self.leaf_below(&row, self.child(0, score))
        return None if suspect else out

    def _apply_at(self, Rows rows, const int32_t[::1] samples):
        """`apply` to some of the rows, without copying them out."""
        out = np.empty(samples.shape[0], dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Py_ssize_t i
        cdef Row row
        with nogil:
            for i in range(samples.shape[0]):
                row = rows.get(samples[i])
                leaf[i] = self.leaf_of(&row)
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
        cdef Rows rows = self._check(X)
        out = np.empty((rows.n_samples, self.n_internal))
        cdef double[:, ::1] score = out
        cdef Py_ssize_t i
        cdef int node
        cdef Row row
        with nogil:
            for i in range(rows.n_samples):
                row = rows.get(i)
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
        leaf = self.apply(X)
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
        if not isinstance(other, Tree):
            return NotImplemented
        return all(
            np.array_equal(a, b) for a, b in zip(self._arrays(), other._arrays(), strict=True))

    __hash__ = None

    def __repr__(self):
        return (
            f"Tree(n_internal={self.n_internal}, n_leaves={self.n_leaves}, "
            f"n_features={self.n_features}, n_outputs={self.n_outputs}, "
            f"max_depth={self.max_depth})")
