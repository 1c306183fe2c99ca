"""Terms of linear leaves that the path to the leaf decides, such as a category it rules out."""

from dataclasses import replace

import numpy as np

from ngdt._inspection.captions import captions_of


def readable_captions(model, **parameters):
    """Captions of a model for readers: those of `captions_of`, by `without_constants`.

    Parameters
    ----------
    model, **parameters
        As for `captions_of`.

    Returns
    -------
    Captions
    """
    return without_constants(captions_of(model, **parameters))


def without_constants(captions):
    """Captions of the same tree whose linear leaves have no term that is constant on their path.

    The constants are added to the values of the leaves. A column of categories or bools is in one
    of a few states, and splits on this column alone say in which ones a sample of the leaf may be.

    Parameters
    ----------
    captions : Captions

    Returns
    -------
    Captions
    """
    tree = captions.tree
    if tree.slopes is None or not tree.n_internal:
        return captions
    columns = _columns(captions)
    values, slopes = tree.values.copy(), tree.slopes.copy()
    for leaf, allowed in _allowed_states(tree, columns):
        for column, is_allowed in allowed.items():
            features, states = columns[column]
            states = states[is_allowed]
            if not len(states):     # no sample comes here, but for unknown categories
                continue
            decided = (states == states[0]).all(axis=0)
            features = features[decided]
            values[leaf] += slopes[leaf][:, features] @ states[0, decided]
            slopes[leaf][:, features] = 0.0
    tree = tree.replace(values=values, slopes=slopes, ranges=tree.ranges)
    summary = captions.summary
    return replace(
        captions, tree=tree, summary=None if summary is None else replace(summary, tree=tree))


def _columns(captions):
    """The features of each column, and their values in each state of it.

    NaN stands for any number. Unknown categories, which are a bit of each, are left aside.
    """
    members = {}
    for j, feature in enumerate(captions.features):
        members.setdefault(feature.column, []).append(j)
    columns = {}
    for column, features in members.items():
        first = features[0]
        if captions.is_number(first):
            present = [[0.0], [1.0]] if first in captions.booleans else [[np.nan]]
            states = np.pad(present, ((0, 0), (0, len(features) - 1)))
            if first in captions.fill:
                states = np.vstack([states, [captions.fill[first], *np.ones(len(features) - 1)]])
        else:
            states = np.eye(len(features))
            if captions.features[first].others:
                states = np.vstack([states, [0.0]])
        columns[column] = np.array(features), states
    return columns


def _allowed_states(tree, columns):
    """Each leaf, and masks of the states of the columns that the splits above it use alone."""
    column_of = np.empty(tree.n_features, dtype=np.intp)
    for column, (features, _) in columns.items():
        column_of[features] = column
    stack = [(0, {})]
    while stack:    # a chain may be deeper than Python's recursion limit
        node, allowed = stack.pop()
        if node < 0:
            yield ~node, allowed
            continue
        weights = tree.dense_weights([node])[0]
        used = np.flatnonzero(weights)
        of_columns = set(column_of[used].tolist())
        for is_left in (True, False):
            below = allowed
            if len(of_columns) == 1:
                (column,) = of_columns
                features, states = columns[column]
                scores = states[:, np.isin(features, used)] @ weights[used]
                may_go = np.isnan(scores) | ((scores <= tree.thresholds[node]) == is_left)
                below = allowed | {column: allowed.get(column, True) & may_go}
            children = tree.children_left if is_left else tree.children_right
            stack.append((int(children[node]), below))
