"""Parts of all texts of trees: leaves as text, notes, and characters."""

import re
from numbers import Integral

import numpy as np
from scipy.special import softmax

from ngdt._core.structure import has_slopes
from ngdt._estimators.base import ObliqueTree
from ngdt._inspection.conditions import condition_of
from ngdt._inspection.leaf_formulas import (
    difference,
    formula_of,
    is_linear_model,
    log_odds_of,
)
from ngdt._inspection.rules import DEFAULT_TERMS, terms_of, with_targets
from ngdt._util.numbers import format_number, format_probability
from ngdt._util.text import one_line, wrapped

# Significant digits of means.
_MEAN_DIGITS = 6
UNCERTAIN = "  # rounding of the sum decides for some samples"
# Null characters end texts, and surrogates, which stand for half of a character, have no encoding.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def notes_on_missing(captions, n_terms):
    """Notes on missing values in sums, list of str, without a capital or a full stop.

    They list the features that are written: a reader cannot compute what a hidden term adds.
    """
    tree = captions.tree
    if not (captions.fill or captions.unknown):
        return []
    conditions = [condition_of(captions, node, n_terms) for node in range(tree.n_internal)]
    shown = {j for each in conditions if each.is_sum for j in each.rule.features}
    if tree.slopes is not None:
        odds = log_odds_of(captions)
        shown.update(*(terms_of(odds, slopes)[0][:n_terms]
                       for leaf in odds.tree.slopes for slopes in leaf))
    notes = []
    for note, means in (
            ("in sums, a missing number counts as its mean", captions.fill),
            ("a missing or rare category without a term counts in sums as", captions.unknown)):
        listed = ", ".join(
            f"{one_line(captions.feature_names[j])} {format_number(value, _MEAN_DIGITS)}"
            for j, value in means.items() if j in shown)
        notes += [f"{note}: {listed}"] if listed else []
    return notes


def notes_on_probabilities(captions, estimator):
    """Notes on probabilities that a reader would take for shares of samples, likewise."""
    is_shrunk = isinstance(estimator, ObliqueTree) and estimator._is_strongly_shrunk()
    weighted = "probabilities are shares of weights, such as class weights, not of samples"
    shrunk = "probabilities are shrunk towards those of the nodes above"
    return [weighted] * captions.is_weighted + [shrunk] * is_shrunk


def leaf_lines(captions, leaf, n_terms, digits=None):
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
    is_linear = has_slopes(tree, leaf)
    if names is not None and not is_linear:
        values = tree.values[leaf]
        best = values.argmax()
        return [f"{names[best]} ({format_probability(softmax(values)[best], digits or 3)})"]
    odds = log_odds_of(captions)
    texts = [formula_of(odds, leaf, output, n_terms, digits).text(odds)
             for output in range(odds.tree.n_outputs)]
    if odds is not captions:
        return [f"log-odds of {names[1]} against {names[0]}: {texts[0]}"]
    if names is not None:
        return [f"score of {name}: {text}" for name, text in zip(names, texts, strict=True)]
    return [("; " if is_linear else ", ").join(with_targets(captions.target_names, texts))]


def leaf_block(captions, leaf, n_terms, digits=None, counted="", indent=""):
    """Prediction of a leaf for a screen: a linear one as a table, unless its formulas are short.

    Parameters
    ----------
    captions : Captions
    leaf : int
    n_terms, digits
        As for `formula_of`.
    counted : str, default=""
        What is written behind the prediction.
    indent : str, default=""
        What each line begins with.

    Returns
    -------
    list of str
        As of `leaf_lines`. A table says what is predicted, its constant, the terms that are added
        to it, and its limits.
    """
    *lines, last = leaf_lines(captions, leaf, n_terms, digits)
    blocks = [wrapped(line, indent) for line in [*lines, f"{last}{counted}"]]
    is_long = is_linear_model(captions.tree) or max(map(len, blocks)) > 1
    if is_long and has_slopes(captions.tree, leaf):
        head, *rows = _table_lines(captions, leaf, n_terms, digits)
        return [indent + line for line in (f"{head}{counted}", *rows)]
    return [line for block in blocks for line in block]


def _table_lines(captions, leaf, n_terms, digits):
    """A linear leaf as a table: a line for each feature, a column for each sum."""
    names, title, heads, odds = captions.class_names, "prediction", [], log_odds_of(captions)
    if odds is not captions:
        title, captions = f"log-odds of {one_line(names[1])} against {one_line(names[0])}", odds
    elif names is not None:
        title, heads = "score of each class", names
    elif captions.tree.n_outputs > 1:
        title = "prediction of each target"
        heads = captions.target_names or range(captions.tree.n_outputs)
    heads = [one_line(str(head)) for head in heads]
    largest = np.abs(captions.tree.slopes[leaf]).max(axis=0)
    terms = _by_column(captions, *terms_of(captions, largest), n_terms)
    formulas = [formula_of(captions, leaf, output, n_terms, digits, terms=terms)
                for output in range(captions.tree.n_outputs)]
    columns = [
        _aligned([head, format_number(each.constant), *map(_signed, each.slopes),
                  *map(format_number, each.limits)])
        for head, each in zip(heads or [""], formulas, strict=True)]
    first = formulas[0]
    shown = [f"* {difference(captions, *each)}"
             for each in zip(first.features, first.centers, strict=True)]
    labels = ["", "", *shown, *("at least", "at most")[:len(first.limits)]]
    lines = ["    " + "  ".join(row).rstrip() for row in zip(*columns, labels, strict=True)]
    if first.hidden:
        lines.insert(2 + len(shown), f"    {first.hidden}")
    return [f"{title}:", *(lines if heads else lines[1:])]


def _by_column(captions, features, effect, n_terms):
    """Features and their effects; of those that are shown, a column's follow the first of them."""
    columns = [captions.features[j].column for j in features]
    _, first, column = np.unique(columns, return_index=True, return_inverse=True)
    place = first[column]
    if n_terms is not None:
        place[n_terms:] = len(place)
    order = np.argsort(place, kind="stable")
    return features[order], effect[order]


def _signed(number):
    text = format_number(number)
    return text if text.startswith("-") or not number else f"+{text}"


def _aligned(column):
    """A column of equal widths: its head, and texts of numbers, whose points are in one line."""
    head, *texts = column
    parts = [text.partition(".") for text in texts]
    before = max(len(whole) for whole, _, _ in parts)
    after = max(len(point + rest) for _, point, rest in parts)
    cells = [f"{whole:>{before}}{point + rest:<{after}}" for whole, point, rest in parts]
    width = max(len(head), before + after)
    return [text.rjust(width) for text in (head, *cells)]


def writable(text):
    """Text for readers, with U+FFFD in place of characters that cannot be written."""
    return _UNWRITABLE.sub("\ufffd", text)


def check_writable(text, language):
    """Refuse a program with a name that cannot be written.

    It cannot be replaced either, since the data have the same name.
    """
    found = _UNWRITABLE.search(text)
    if found:
        near = text[max(0, found.start() - 20):found.end()]
        raise ValueError(
            f"a name, a label or a category holds {found[0]!a}, which {language} cannot hold: "
            f"rename {near!a}")


def terms_to_show(n_terms, tree, default=DEFAULT_TERMS):
    """Check `n_terms`, and say what "auto" stands for.

    Parameters
    ----------
    n_terms : int, None or "auto"
    tree : Tree
    default : int, default=5
        What "auto" stands for, but for a linear model.

    Returns
    -------
    int or None
    """
    if n_terms == "auto":
        return None if is_linear_model(tree) else default
    if n_terms is not None and (not isinstance(n_terms, Integral) or n_terms < 1):
        raise ValueError(f'n_terms must be a positive int, None or "auto", got {n_terms!r}')
    return n_terms
