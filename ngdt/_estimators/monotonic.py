"""The parameter `monotonic_cst`: its checks, and the directions of the features of the tree."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import _check_monotonic_cst


def encoded_directions(estimator, table, given):
    """The direction of each feature of the tree.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
        It knows the columns of X.
    table : Table
        The encoding of X.
    given : array-like of int, dict of int or None
        As the parameter.

    Returns
    -------
    ndarray of int8, shape (n_encoded_features,)

    Raises
    ------
    ValueError
        If `monotonic_cst` does not fit the columns; the message names them.
    """
    try:
        if not (given is None or isinstance(given, dict)) and np.ndim(given) != 1:
            raise TypeError(f"{np.ndim(given)} dimensions")
        direction = _check_monotonic_cst(estimator, given)
    except TypeError as error:      # of entries without an order, such as None
        raise ValueError(
            "monotonic_cst must have an entry -1, 0 or 1 for each column of X, or be a dict of "
            f"columns, got {given!r}") from error
    of_categories = [table.names[j] for j in table.categorical if direction[j]]
    if of_categories:
        raise ValueError(
            f"monotonic_cst constrains the columns of categories {of_categories}, which have no "
            "order: pass 0 for them, or encode them as numbers")
    # Indicators of missing numbers are free: a missing number is neither more nor less.
    return np.array([direction[each.column] if each.kind == "number" else 0
                     for each in table.features], dtype=np.int8)


def resolve_directions(estimator, fitted):
    """The direction of each feature of the tree, or None if no column has one.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
    fitted : dict
        Fitted attributes that depend on X and y only.

    Returns
    -------
    ndarray of int8, shape (n_encoded_features,), or None

    Raises
    ------
    ValueError
        If the constraints do not fit the columns, the targets or the kind of leaves.
    """
    if estimator.monotonic_cst is None:
        return None
    directions = encoded_directions(estimator, fitted["_table"], estimator.monotonic_cst)
    if not directions.any():
        return None
    if len(fitted["classes_"]) > 2 if is_classifier(estimator) else fitted["n_outputs_"] > 1:
        raise ValueError(
            "monotonic_cst is for one target, or for two classes, of which it orders the "
            "probability of the second, but y has more: use monotonic_cst=None, or an estimator "
            "for each")
    return directions
