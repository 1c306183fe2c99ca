"""Changes of a fitted tree or forest that its user asks for."""

_OF_ONE_TREE = ("nodes are those of one tree, so set forest.estimators_[i] = "
                "{}(forest.estimators_[i], {}), by which the forest then predicts")


def prune_at(model, nodes):
    """Turn splits of a fitted tree into leaves, without training data.

    Parameters
    ----------
    model : ObliqueTreeClassifier or ObliqueTreeRegressor
        Fitted; it is not changed.
    nodes : array-like of int
        The internal nodes that become leaves, by their numbers in ``tree_``, which explanations,
        `plot_tree` and `ngdt.export.export_frame` show. Nodes below them are removed.

    Returns
    -------
    ObliqueTreeClassifier or ObliqueTreeRegressor
        A fitted estimator. All other splits and leaves are the same, and keep their order. Sample
        counts, importances and quantiles belong to the smaller tree. `summary()` says where it was
        pruned; `history_` and `candidates_` still describe the training.

    Raises
    ------
    ValueError, TypeError
        If `nodes` are not internal nodes of the tree, or if `model` is not a fitted estimator of a
        single tree. Of a forest, put pruned trees into ``estimators_``.

    See Also
    --------
    refit_leaves : Fits the leaves to data.
    set_leaves : Sets the leaves by hand.
    prune_cost_complexity : Chooses the nodes.

    Notes
    -----
    A new leaf has the mean of the predictions for the training samples of its node: probabilities,
    or values. For losses that another number minimises, such as the median, it is this number of
    the targets that the tree keeps for `predict_quantiles`: all, in leaves of at most 512 samples.
    Those of a linear leaf vary by what its slopes leave alone, so that of a new leaf, quantiles far
    from the median are too near to it: `refit_leaves` finds them by the data.
    With `monotonic_cst`, leaves get the nearest monotone values, and linear ones keep the slopes
    that they share.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.pruning import prune_at
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=3, optimizer=None).fit(X, y)
    >>> tree.tree_.children_left.tolist(), tree.tree_.children_right.tolist()
    ([-1, 2, -2, -4], [1, 3, -3, -5])
    >>> smaller = prune_at(tree, [2, 3])
    >>> smaller
    <ObliqueTreeClassifier(max_depth=3, optimizer=None): greedy tree: 3 leaves, depth 2>
    >>> print(smaller.summary())
    Greedy tree: 3 leaves, depth 2, 2 nonzero weights.
    It was then pruned at the nodes [2, 3].
    """
    _check_has(model, "_pruned_at", _OF_ONE_TREE.format("prune_at", "nodes"))
    return model._pruned_at(nodes)


def refit_leaves(model, X, y, *, sample_weight=None):
    """Fit the leaves of a fitted tree or forest to other samples; the splits stay.

    Parameters
    ----------
    model : ObliqueTreeClassifier, ObliqueTreeRegressor or a forest of these
        Fitted; it is not changed.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        Labels that the model knows, or regression targets.
    sample_weight : array-like of shape (n_samples,), default=None
        As for `fit`.

    Returns
    -------
    ObliqueTreeClassifier, ObliqueTreeRegressor or a forest of these
        A fitted estimator. Sample counts, importances and quantiles belong to the given samples.
        A leaf that none of them reaches keeps what it predicts. `summary()` says that the leaves
        were refitted; `history_` and `candidates_` still describe the training, unless the tree was
        put into ``tree_`` by hand. A forest fits the leaves of each tree to all samples, and has no
        out-of-bag predictions.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it. If no sample reaches a leaf of a tree that
        was put into ``tree_`` by hand, and of which nothing else is known.

    See Also
    --------
    prune_at : Turns splits into leaves.

    Notes
    -----
    Constant leaves get the best values for the loss. If the tree has linear leaves, `LinearLeaves`
    fits all leaves: the one at the end of `optimizer`, or `leaf`, with limits if they had them.
    :ref:`Outliers in y <estimator-data>` count as in `fit`.
    With `monotonic_cst`, all leaves get the nearest monotone values, also without samples, and
    linear leaves keep the slopes that they share, unless samples reach all leaves.
    Limits of the training, such as `min_samples_leaf`, are not enforced.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import ObliqueTreeRegressor
    >>> from ngdt.pruning import refit_leaves
    >>> X = np.arange(10.0)[:, None]
    >>> tree = ObliqueTreeRegressor(1, leaf="constant", optimizer=None).fit(X, X[:, 0] > 4)
    >>> tree.predict([[0.0], [9.0]]).tolist()
    [0.0, 1.0]
    >>> refit_leaves(tree, [[7.0], [8.0]], [3.0, 5.0]).predict([[0.0], [9.0]]).tolist()
    [0.0, 4.0]
    """
    _check_has(model, "_refitted", "the second forest of boosting was trained on the errors of the "
               "first one. Refit estimators_[0], which predicts by itself, or train anew")
    return model._refitted(X, y, sample_weight)


def set_leaves(model, frame):
    """Set the predictions of leaves of a fitted tree by hand, in its data frame.

    Parameters
    ----------
    model : ObliqueTreeClassifier or ObliqueTreeRegressor
        Fitted; it is not changed.
    frame : data frame
        Of `ngdt.export.export_frame`, with other numbers in the rows of some leaves: in the columns
        ``prediction`` or, for classification, ``probability_`` and the class. Rows of which nothing
        is changed may be left out, and so may the columns but ``node`` and these.

    Returns
    -------
    ObliqueTreeClassifier or ObliqueTreeRegressor
        A fitted estimator. Splits, sample counts, importances and quantiles are those of `model`,
        and splits predict the means of the new leaves. `summary()` says which leaves were set.

    Raises
    ------
    ValueError, TypeError
        If predictions of splits or of linear leaves are changed, if probabilities do not add up to
        1, if predictions are against the directions of `monotonic_cst`, or if `model` is not a
        fitted estimator of a single tree.

    See Also
    --------
    prune_at : Turns splits into leaves.
    refit_leaves : Fits the leaves to data.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import ObliqueTreeRegressor
    >>> from ngdt.export import export_frame
    >>> from ngdt.pruning import set_leaves
    >>> X = np.arange(10.0)[:, None]
    >>> tree = ObliqueTreeRegressor(1, leaf="constant", optimizer=None).fit(X, X[:, 0] > 4)
    >>> frame = export_frame(tree)
    >>> frame.loc[frame.node == 2, "prediction"] = 0.9
    >>> set_leaves(tree, frame).predict([[0.0], [9.0]]).tolist()
    [0.0, 0.9]
    """
    _check_has(model, "_with_leaves", _OF_ONE_TREE.format("set_leaves", "frame"))
    return model._with_leaves(frame)


def _check_has(model, method, hint_for_several):
    """Raise a TypeError that says what to do, unless a model can be edited so."""
    if hasattr(model, method):
        return
    several = hasattr(model, "estimators_")
    hint = hint_for_several if several else (
        "pass best_estimator_ of a search, and of a pipeline its last step, model[-1], and data "
        "that the others have transformed")
    raise TypeError(
        "model must be a fitted ObliqueTreeClassifier or ObliqueTreeRegressor"
        f"{' or a forest' * (method == '_refitted')}, got {type(model).__name__}: {hint}")
