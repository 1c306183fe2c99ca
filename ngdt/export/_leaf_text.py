"""Leaves as text, for nested conditions, rules and graphs."""

import numpy as np
from scipy.special import softmax

from ngdt._inspection.leaf_formulas import has_log_odds, leaf_texts, linear_table_of, log_odds_of
from ngdt._inspection.rules import is_sum, one_line
from ngdt._util.numbers import format_number


def missing_in_sums(captions):
    """Values of missing numbers in the sums of splits and linear leaves.

    Parameters
    ----------
    captions : Captions

    Returns
    -------
    dict of int to float
        Value by feature, of features with missing numbers in training.
    """
    tree, used = captions.tree, set()
    if not captions.fill:
        return {}
    for node in range(tree.n_internal):
        if is_sum(captions, node):
            used |= set(np.flatnonzero(tree.dense_weights([node])[0]).tolist())
    if tree.slopes is not None:
        used |= set(np.flatnonzero(tree.slopes.any(axis=(0, 1))).tolist())
    return {j: value for j, value in captions.fill.items() if j in used}


def leaf_text(captions, leaf, n_terms=None, digits=None):
    """Prediction of a leaf, in one line.

    Parameters
    ----------
    captions, leaf, n_terms, digits
        As for `leaf_lines`.

    Returns
    -------
    str
    """
    return "; ".join(leaf_lines(captions, leaf, n_terms, digits))


def leaf_lines(captions, leaf, n_terms=None, digits=None):
    """Prediction of a leaf: its most probable class, its values, or formulas.

    Parameters
    ----------
    captions : Captions
    leaf : int
    n_terms, digits
        As for `formula_of`.

    Returns
    -------
    list of str
        One, or one for each class.
    """
    tree, names = captions.tree, captions.class_names
    names = None if names is None else [one_line(name) for name in names]
    is_linear = tree.slopes is not None and tree.slopes[leaf].any()
    if names is not None and not is_linear:
        values = tree.values[leaf]
        best = values.argmax()
        return [f"{names[best]} ({format_number(softmax(values)[best], digits or 3)})"]
    if is_linear and has_log_odds(captions):
        (text,) = leaf_texts(log_odds_of(captions), leaf, n_terms, digits)
        return [f"log-odds of {names[1]} against {names[0]}: {text}"]
    texts = leaf_texts(captions, leaf, n_terms, digits)
    if names is not None:
        return [f"score of {name}: {text}" for name, text in zip(names, texts, strict=True)]
    return [("; " if is_linear else ", ").join(texts)]


def linear_model_lines(captions, n_terms=None, digits=None):
    """A linear model as a table, with a line for each feature.

    Parameters
    ----------
    captions : Captions
        Of a tree that is a single linear leaf.
    n_terms, digits
        As for `formula_of`.

    Returns
    -------
    list of str
        What is predicted, its constant, the terms that are added to it, and its limits.
    """
    table = linear_table_of(captions, n_terms, digits)
    limits = [] if table.limits is None else zip(("at least", "at most"), table.limits, strict=True)
    rows = [
        ("", list(map(format_number, table.constants))),
        *((f"* {name}", list(map(_signed, slopes)))
          for name, slopes in zip(table.names, table.slopes, strict=True)),
        *((name, list(map(format_number, numbers))) for name, numbers in limits)]
    columns = [_aligned(texts, head) for texts, head in zip(
        zip(*(numbers for _, numbers in rows), strict=True), table.heads or [""], strict=True)]
    lines = [
        "    " + "  ".join([*cells, name]).rstrip()
        for name, *cells in zip(["", *(name for name, _ in rows)], *columns, strict=True)]
    if table.hidden:
        lines.insert(2 + len(table.names), f"    {table.hidden}")
    return [f"{table.title}:", *(lines if table.heads else lines[1:])]


def _signed(number):
    text = format_number(number)
    return text if text.startswith("-") or not number else f"+{text}"


def _aligned(texts, head):
    """Texts of numbers and the head of their column, of equal widths, with points in one line."""
    parts = [text.partition(".") for text in texts]
    before = max(len(whole) for whole, _, _ in parts)
    after = max(len(point + rest) for _, point, rest in parts)
    cells = [f"{whole:>{before}}{point + rest:<{after}}" for whole, point, rest in parts]
    width = max(len(head), before + after)
    return [text.rjust(width) for text in (head, *cells)]
