"""Evidence of held-out samples for the leaves of a tree."""

from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.base import is_classifier
from sklearn.utils import check_array, check_consistent_length

from ngdt._core.tree import Tree
from ngdt._encoding.check_targets import as_labels, check_names_of_targets
from ngdt._encoding.targets import ClassTargets
from ngdt._inspection.captions import leaves_and_samples, tree_of
from ngdt._inspection.pipelines import unwrap
from ngdt._util.numbers import format_number
from ngdt._util.validation import error_prefix

_QUANTILES = 0.05, 0.95     # of targets


class HeldOutLeaf(NamedTuple):
    """Held-out samples of a leaf.

    Parameters
    ----------
    n_samples : int
    interval : tuple of float, or None
        Lower and upper end. For classes, Wilson's interval at 95 % for the share of right
        predictions. For regression, the 5 % and the 95 % quantile of the targets; with several
        targets, a tuple of such pairs. None without samples.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.export import export_rules
    >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[1.0], [2.0]])
    >>> rule, _ = export_rules(tree, held_out=([[-1.0], [-2.0], [3.0]], [0.0, 2.0, 5.0]))
    >>> rule.held_out
    HeldOutLeaf(n_samples=2, interval=(0.1, 1.9))
    """

    n_samples: int
    interval: tuple | None

    def __str__(self):
        if self.interval is None:
            return "0 held out"
        pairs = self.interval if isinstance(self.interval[0], tuple) else [self.interval]
        return f"{self.n_samples} held out: " + ", ".join(
            " to ".join(format_number(end, 3) for end in pair) for pair in pairs)


def held_out_leaves(model, held_out):
    """Held-out samples of each leaf."""
    if not isinstance(held_out, tuple | list) or len(held_out) != 2:
        raise TypeError(
            f"held_out must be a tuple (X, y), got {type(held_out).__name__}"
            f"{f' of length {len(held_out)}' if hasattr(held_out, '__len__') else ''}")
    with error_prefix("held_out"):
        leaf, X = leaves_and_samples(model, held_out[0])
        inner = unwrap(model)[1]
        tree, y = tree_of(inner), check_array(
            as_labels(held_out[1]), ensure_2d=False, dtype=None, input_name="y")
        check_consistent_length(leaf, y)
        own = [np.flatnonzero(leaf == number) for number in range(tree.n_leaves)]
        if tree.n_outputs > 1 if isinstance(inner, Tree) else is_classifier(inner):
            classes = np.asarray(getattr(inner, "classes_", np.arange(tree.n_outputs)))
            predicted = tree.leaf_predictions(leaf, tree.samples_of(X)).argmax(axis=1)
            values, interval = ClassTargets(classes).encode(y) == predicted, _share_right
        else:
            if hasattr(inner, "_targets"):
                check_names_of_targets(inner._targets, held_out[1])
            values, interval = y.astype(np.float64).reshape(len(leaf), -1), _quantiles
            if values.shape[1] != tree.n_outputs:
                raise ValueError(
                    f"y has {values.shape[1]} targets, but the tree has {tree.n_outputs}")
    return [HeldOutLeaf(len(here), interval(values[here]) if len(here) else None) for here in own]


def _share_right(is_right):
    """Interval of Wilson for the share of right predictions."""
    found = binomtest(int(is_right.sum()), len(is_right)).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def _quantiles(y):
    """Quantiles of each target."""
    pairs = [tuple(map(float, np.quantile(column, _QUANTILES))) for column in y.T]
    return pairs[0] if len(pairs) == 1 else tuple(pairs)
