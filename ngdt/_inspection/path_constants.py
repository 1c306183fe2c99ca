"""Terms of linear leaves that the path to the leaf decides, such as a category it rules out."""

from dataclasses import replace

import numpy as np

from ngdt._inspection.captions import captions_of


def readable_captions(model, **parameters):
    """Captions of a model for readers: `captions_of`, and then `without_constants`."""
    return without_constants(captions_of(model, **parameters))


def without_constants(captions):
    """Captions of the same tree whose linear leaves have no term that is constant on their path.

    The constants are added to the values of the leaves. A column of categories or bools is in one
    of a few states, and splits on this column alone say in which ones a sample of the leaf may be.
    """
    tree = captions.tree
    if tree.slopes is None or not tree.n_internal:
        return captions
    columns, path = _columns(captions), tree.ancestors()
    splits = _splits_of_columns(captions, columns)
    values, slopes = tree.values.copy(), tree.slopes.copy()
    for leaf in range(tree.n_leaves):
        own, allowed = slice(*path.indptr[leaf:leaf + 2]), {}
        for node, side in zip(path.indices[own].tolist(), path.data[own], strict=True):
            if node in splits:
                column, *may_go = splits[node]
                allowed[column] = allowed.get(column, True) & may_go[int(side > 0)]
        for column, is_allowed in allowed.items():
            features, states = columns[column]
            states = states[is_allowed]
            if len(states):     # else, no sample comes here, but for unknown categories
                decided = (states == states[0]).all(axis=0)
                values[leaf] += slopes[leaf][:, features[decided]] @ states[0, decided]
                slopes[leaf][:, features[decided]] = 0.0
    tree = tree.replace(values=values, slopes=slopes, ranges=tree.ranges)
    summary = captions.summary
    return replace(
        captions, tree=tree, summary=None if summary is None else replace(summary, tree=tree))


def _columns(captions):
    """The features of each column, and their values in each state of it.

    NaN stands for any number. Unknown categories, which are a bit of each, are left aside, unless
    training had some.
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
            if any(j in captions.unknown for j in features):
                states = np.vstack([states, [captions.unknown.get(j, 0.0) for j in features]])
        columns[column] = np.array(features), states
    return columns


def _splits_of_columns(captions, columns):
    """The splits on a single column: it, and masks of its states that go left, or right."""
    splits, tree = {}, captions.tree
    for node in range(tree.n_internal):
        weights = tree.dense_weights([node])[0]
        used = {captions.features[j].column for j in np.flatnonzero(weights)}
        if len(used) == 1:
            (column,) = used
            features, states = columns[column]
            own = features[weights[features] != 0]
            scores = states[:, np.isin(features, own)] @ weights[own]
            is_left, is_any = scores <= tree.thresholds[node], np.isnan(scores)
            splits[node] = column, is_left | is_any, ~is_left
    return splits
