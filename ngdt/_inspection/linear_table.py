"""A linear model, a tree of one linear leaf, as a table with a row for each feature."""

from dataclasses import dataclass

import numpy as np

from ngdt._inspection.leaf_formulas import difference, formula_of, has_log_odds, log_odds_of
from ngdt._inspection.rules import hidden_terms, one_line, terms_of


@dataclass(frozen=True, eq=False)
class LinearTable:
    """The numbers of a linear model: a row for each feature, a column for each sum.

    Attributes
    ----------
    title : str
        What the sums are.
    heads : list of str
        Names of the classes, or numbers of the targets; empty if there is a single sum.
    constants : list of Decimal
        What the sums begin with.
    features : ndarray of int
        The features that are shown, the largest effect first; those of a column are together.
    names : list of str
        What the slopes are multiplied with.
    slopes : list of list of Decimal
        For each feature, the slope of each sum.
    effect : ndarray of shape (n_shown,)
        The largest effect of each feature on a sum, in units of the largest of all.
    limits : list of list of Decimal, or None
        The smallest and the largest predictions.
    hidden : str
        What is not shown, as text.
    """

    title: str
    heads: list
    constants: list
    features: np.ndarray
    names: list
    slopes: list
    effect: np.ndarray
    limits: list | None
    hidden: str


def is_linear_model(tree):
    """Return whether a tree is a single linear leaf.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    bool
    """
    return tree.n_internal == 0 and tree.slopes is not None and bool(tree.slopes.any())


def linear_table_of(captions, n_terms=None, digits=None):
    """The table of a linear model.

    Parameters
    ----------
    captions : Captions
        Of a tree for which `is_linear_model` is true.
    n_terms, digits
        As for `formula_of`.

    Returns
    -------
    LinearTable
    """
    names = captions.class_names
    title, heads = "prediction", []
    if has_log_odds(captions):
        title = f"log-odds of {one_line(names[1])} against {one_line(names[0])}"
        captions = log_odds_of(captions)
    elif names is not None:
        title, heads = "score of each class", [one_line(name) for name in names]
    elif captions.tree.n_outputs > 1:
        title, heads = "prediction of each target", list(map(str, range(captions.tree.n_outputs)))
    largest = np.abs(captions.tree.slopes[0]).max(axis=0)
    features, effect = terms = _by_column(captions, *terms_of(captions, largest))
    formulas = [formula_of(captions, 0, output, n_terms, digits, terms=terms)
                for output in range(captions.tree.n_outputs)]
    has_limits = captions.tree.ranges is not None
    return LinearTable(
        title, heads, [formula.constant for formula in formulas], features[:n_terms],
        [difference(captions, *each)
         for each in zip(features[:n_terms], formulas[0].centers, strict=True)],
        list(zip(*(formula.slopes for formula in formulas), strict=True)), effect[:n_terms],
        list(zip(*(formula.limits for formula in formulas), strict=True)) if has_limits else None,
        hidden_terms(captions, effect, n_terms))


def _by_column(captions, features, effect):
    """Features and their effects, those of a column together where the first of them was."""
    columns, first = [captions.features[j].column for j in features], {}
    for place, column in enumerate(columns):
        first.setdefault(column, place)
    order = sorted(range(len(features)), key=lambda place: first[columns[place]])
    return features[order], effect[order]
