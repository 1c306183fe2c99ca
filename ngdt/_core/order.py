"""Proofs that trees with one output are monotone, and pairs of samples that refute it."""

import numpy as np
from scipy.special import expit, softmax

from ngdt._core.climbs import TOLERANCE, Climbs, monotone_output

# Pairs of leaves that are looked at together.
_PAIRS = 256
# Rounding of a mean, relative to the values of which it is.
_ROUNDING = 8 * np.finfo(np.float64).eps


def with_one_output(tree, output, is_classifier):
    """The tree whose leaf values are the output that is to be monotone.

    Parameters
    ----------
    tree : Tree
        With constant leaves, or with linear ones if `output` is None or a column of the values.
    output : int or None
        As for `monotone_output`.
    is_classifier : bool
        Whether `output` is a class, whose probabilities are taken, and not a column of the values.

    Returns
    -------
    Tree
    """
    if tree.slopes is not None:
        return tree if tree.n_outputs == 1 else tree.replace(**{
            name: None if each is None else monotone_output(each, output)[:, None]
            for name, each in tree.leaf_arrays().items()})
    values = softmax(tree.values, axis=1) if is_classifier and output is not None else tree.values
    return tree.replace(values=monotone_output(values, output)[:, None])


def refute(tree, direction):
    """Find two samples whose outputs are out of order.

    Parameters
    ----------
    tree : Tree
        With one output, and leaves that are constant or share their slopes.
    direction : ndarray of shape (n_features,)

    Returns
    -------
    is_proved : bool or None
        None if rounding errors, or slopes that outweigh differences of values, allow neither a
        proof nor a pair.
    pair : ndarray of shape (2, n_features), or None
    """
    if tree.slopes is not None and (tree.slopes[0, 0] * direction < 0.0).any():
        pair = _against_slopes(tree, direction)
        return (None if pair is None else False), pair
    climbs, score = Climbs(tree, direction), tree.values[:, 0]
    low, high = np.nonzero(climbs.possible & (score[:, None] > score))
    is_proved = True
    for first in range(0, len(low), _PAIRS):
        part = slice(first, first + _PAIRS)
        violation, points = climbs.violations(low[part], high[part])
        for k in first + np.flatnonzero(violation <= TOLERANCE):
            pair = points[k - first]
            if not is_out_of_order([tree], pair):
                # Cells may have no inner points, but some on thresholds.
                pair = climbs.violations(low[[k]], high[[k]], is_exact=True)[1][0]
            if is_out_of_order([tree], pair):
                return False, pair
            is_proved = None
    return is_proved, None


def _against_slopes(tree, direction):
    """Two samples so far apart that slopes against their directions outweigh all else, or None."""
    fall = -tree.slopes[0, 0] * direction
    j = fall.argmax()
    size = np.abs(tree.values).max() + (0.0 if tree.ranges is None else np.abs(tree.ranges).max())
    far = np.zeros(tree.n_features)
    with np.errstate(over="ignore"):
        far[j] = direction[j] * 4.0 * (size or 1.0) / fall[j]
    pair = np.stack([-far, far])
    return pair if is_out_of_order([tree], pair) else None


def refute_table(tree, direction, table, pair):
    """Find two rows of a table whose outputs are out of order, where a pair of samples is known.

    The indicators of a sample need not be those of any row, such as of a column that has half of
    each category. With the nearest ones, the tree has numbers only.

    Parameters
    ----------
    tree, direction
        As for `refute`.
    table : Table
        The encoding of the rows.
    pair : ndarray of shape (2, n_features)

    Returns
    -------
    ndarray of shape (2, n_features), or None
    """
    is_number = table.is_number
    rows = np.array([table.nearest_row(each) for each in pair])
    if is_out_of_order([tree], rows):
        return rows
    low = rows[0]
    _, found = refute(tree.replace(
        weights=tree.dense_weights() * is_number,
        thresholds=tree.thresholds - tree.weights @ np.where(is_number, 0.0, low)), direction)
    if found is None:
        return None
    rows = np.where(is_number, found, low)
    return rows if is_out_of_order([tree], rows) else None


def refute_mean(trees, k, pair, is_log_odds):
    """Find two samples whose mean outputs are out of order, on the way between those of a tree.

    Parameters
    ----------
    trees : list of Tree
        With one output, and leaves as for `refute`.
    k : int
        The tree of which the samples are known.
    pair : ndarray of shape (2, n_features)
        The second is reached from the first in the directions.
    is_log_odds : bool
        Whether the outputs are log-odds, of which the mean is that of the probabilities.

    Returns
    -------
    ndarray of shape (2, n_features), or None
    """
    low, high = pair
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at = [(tree.thresholds - tree.weights @ low) / (tree.weights @ (high - low))
              for tree in trees]
    own, every = (np.unique(each[(each > 0.0) & (each < 1.0)])
                  for each in (at[k], np.concatenate(at)))
    # Between the splits of all trees, just before and after each split of the one that falls.
    middle = (np.append(0.0, every) + np.append(every, 1.0)) / 2
    place = np.searchsorted(every, own)
    part = np.unique(np.concatenate([[0.0, 1.0], middle[place], middle[place + 1]]))
    samples = np.vstack([low + part[:-1, None] * (high - low), high])
    mean = _outputs(trees, samples, is_log_odds).mean(axis=0)
    last = (np.maximum.accumulate(mean) - mean).argmax()
    found = samples[[mean[:last + 1].argmax(), last]]
    return found if is_out_of_order(trees, found, is_log_odds) else None


def is_out_of_order(trees, pair, is_log_odds=False):
    """Tell whether the mean output of the second of two samples is clearly less than of the first.

    Parameters
    ----------
    trees, pair, is_log_odds
        As for `refute_mean`. Of a single tree, the outputs themselves are compared.

    Returns
    -------
    bool
    """
    if not np.isfinite(pair).all():
        return False
    if len(trees) == 1:
        before, after = trees[0].predict(pair)[:, 0]
        return bool(before > after)
    outputs = _outputs(trees, pair, is_log_odds)
    before, after = outputs.mean(axis=0)
    return bool(before - after > _ROUNDING * np.abs(outputs).max())


def _outputs(trees, samples, is_log_odds):
    scores = np.array([tree.predict(samples)[:, 0] for tree in trees])
    return expit(scores) if is_log_odds else scores
