"""Trees in the language of Graphviz."""

import re
import textwrap

import numpy as np
from scipy.special import softmax

from ngdt._core.structure import child_ids, traverse
from ngdt._inspection.conditions import first_condition
from ngdt._inspection.path_constants import readable_captions
from ngdt._util.numbers import place_between
from ngdt._util.validation import check_counts
from ngdt.export._model import leaf_values
from ngdt.export._parts import leaf_lines, terms_to_show, writable

_WIDTH = 40     # of a line of a label, in characters
_HUE = 0.08     # of regression: orange


def export_graphviz(
    model, *, max_depth=None, feature_names=None, class_names=None, filled=False,
    leaves_parallel=False, node_ids=False, rotate=False, rounded=False, n_terms="auto",
    precision=None, X=None,
):
    """Export a tree as a graph in the DOT language.

    Parameters have the names of `sklearn.tree.export_graphviz`. The first branch of a split is for
    samples that meet its condition. ``graphviz.Source(text)`` of the package graphviz draws the
    graph in a notebook, ``dot -Tsvg`` in a terminal.

    Parameters
    ----------
    model : Tree, fitted estimator or Pipeline
        As for `export_text`.
    max_depth : int or None, default=None
        Levels of splits to draw. None draws all.
    feature_names, class_names : sequence, default=None
        As for `export_text`.
    filled : bool, default=False
        Paint constant leaves: in the hue of their class, paler for lower probabilities, or, for a
        single target, darker for larger values.
    leaves_parallel : bool, default=False
        Draw all leaves at the bottom.
    node_ids : bool, default=False
        As for `ngdt.plotting.plot_tree`.
    rotate : bool, default=False
        Draw from left to right.
    rounded : bool, default=False
        Draw boxes with rounded corners.
    n_terms, precision
        As for `export_text`.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features), default=None
        Samples to take for the training samples.

    Returns
    -------
    str

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.export import export_graphviz
    >>> tree = Tree([[0.0, 2.0]], [1.0], [~0], [~1], [[0.0], [1.0]])
    >>> print(export_graphviz(tree, feature_names=["age", "income"]))
    digraph Tree {
    node [shape=box, fontname="helvetica"];
    edge [fontname="helvetica"];
    0 -> 1 [label="yes"];
    0 -> 2 [label="no"];
    0 [label="income <= 0.5"];
    1 [label="0"];
    2 [label="1"];
    }
    """
    check_counts(max_depth=max_depth, precision=precision)
    # Bools of Python, since lists cannot be multiplied by those of numpy.
    filled, node_ids, rotate, rounded = map(bool, (filled, node_ids, rotate, rounded))
    captions = readable_captions(
        model, feature_names=feature_names, class_names=class_names, X=X)
    tree, counts = captions.tree, captions.n_node_samples
    n_terms = terms_to_show(n_terms, tree)
    colors = _leaf_colors(captions) if filled else None
    children, lines, leaves = child_ids(tree).tolist(), [], []
    for node in captions.right_first:
        children[node].reverse()
    for type_, item, _ in traverse(tree, max_depth, captions.right_first):
        # Leaves are numbered after the nodes, as in the counts.
        number, name, fill, text = item, f"node {item}", "", "..."
        if type_ == "split":
            text = str(first_condition(captions, item, n_terms, precision))
            answers = (' [label="yes"]', ' [label="no"]') if item == 0 else ("", "")
            lines += [f"{item} -> {child}{answer};"
                      for child, answer in zip(children[item], answers, strict=True)]
        elif type_ == "leaf":
            number = tree.n_internal + item
            name = f"node {number}, leaf {item}"
            text = "; ".join(leaf_lines(captions, item, n_terms, precision))
            fill = f', fillcolor="{colors[item]}"' if filled else ""
            leaves.append(f"{number};")
        elif type_ != "cut":
            continue
        # No line ends within a term, or between a number and its sign or unit.
        text = re.sub(r"(?<=[-+*=]) | (?=[*=%]|[-+] \S+\))", "\xa0", text)
        parts = textwrap.wrap(text, _WIDTH, break_long_words=False)
        texts = [name] * node_ids + [part.replace("\xa0", " ") for part in parts]
        texts += [] if counts is None else [f"samples = {counts[number]}"]
        lines.append(f"{number} [label={_quoted(*texts)}{fill}];")
    if leaves_parallel:
        lines.append(f"{{rank=same; {' '.join(leaves)}}}")
    styles = ", ".join(["filled"] * filled + ["rounded"] * rounded)
    style = f', style="{styles}"' if styles else ""
    white = ', fillcolor="white"' if filled else ""
    head = ["digraph Tree {", f'node [shape=box{style}{white}, fontname="helvetica"];',
            'edge [fontname="helvetica"];']
    return writable("\n".join([*head, *["rankdir=LR;"] * rotate, *lines, "}"]))


def _quoted(*lines):
    """String of several lines in the DOT language."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def _leaf_colors(captions):
    """Hue, saturation and value of each leaf; white for linear ones and several targets."""
    values, is_linear = leaf_values(captions.tree)
    n_outputs = values.shape[1]
    if captions.class_names is not None:
        hues, saturations = values.argmax(axis=1) / n_outputs, softmax(values, axis=1).max(axis=1)
    else:
        hues = np.full(len(values), _HUE)
        saturations = place_between(values[:, 0], values.min(), values.max()) * (n_outputs == 1)
    saturations = np.where(is_linear, 0.0, saturations)
    return [f"{hue:.3f} {saturation:.3f} 1.000"
            for hue, saturation in zip(hues, saturations, strict=True)]
