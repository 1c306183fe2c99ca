"""Context of the explanations of a model: names, moments of the features, kind of the outputs."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from ngdt._encoding.columns import is_missing
from ngdt._inspection.importances import used_features
from ngdt._inspection.leaf_formulas import tolerance_of
from ngdt._inspection.rules import DEFAULT_DIGITS, factor, with_targets
from ngdt._util.arrays import as_dense
from ngdt._util.numbers import format_number, format_probability, format_within, whole_digits
from ngdt._util.text import one_line

# Relative error of a variance.
ROUNDING = 1e-5


def deviations(distance):
    """Write a distance in standard deviations."""
    number = format_number(distance, 2)
    return f"{number} standard deviation{'' if number == '1' else 's'}"


def beside(value, other, decimals=0):
    """Write a number with so many digits that these tell how far it is from another one."""
    return format_within(
        value, whole_digits(value, decimals=decimals), abs(value - other) / 4 or np.inf)


def format_prediction(number, most):
    """Write a predicted number as the text of a tree does, rounded by at most this much."""
    return format_within(number, DEFAULT_DIGITS, most)


class Prediction(NamedTuple):
    """The prediction of a leaf, a tree or a forest for a sample.

    Attributes
    ----------
    value : label, float or ndarray
        The class, the number or, for several targets, the numbers.
    probability : float or None
        Probability of the class; None for regression.
    target_names : list of str, or None
        Names of several targets; None if they are not known.
    roundings : tuple of float
        By how much each number may be rounded in text; empty if that is not known.
    """

    value: Any
    probability: float | None = None
    target_names: list | None = None
    roundings: tuple = ()

    @property
    def label(self):
        """The value of a class in one line."""
        return one_line(str(self.value))

    def __str__(self):
        if self.probability is not None:
            return f"{self.label} ({format_probability(self.probability)})"
        numbers = np.ravel(self.value).tolist()
        texts = map(format_prediction, numbers, self.roundings or [np.inf] * len(numbers))
        return ", ".join(with_targets(self.target_names, texts))


class Context:
    """A model as its explanations see it.

    Parameters
    ----------
    models : list of estimators
        The tree, or the trees of a forest. Fitted, on the same table.
    captions : Captions
        Names. For a forest, they hold its first tree.
    is_forest : bool, default=False
        Whether outputs for classes are probabilities; those of a tree are logits.

    Attributes
    ----------
    features : list of Feature
        What the encoded features mean.
    classes : ndarray or None
        Labels of the classes; None for regression.
    mean, std, low, high : ndarray of shape (n_features,)
        Of the encoded features, over the training samples.
    is_whole : ndarray of bool, shape (n_features,)
        The features that were whole numbers there.
    factors : list of str
        Names of the features as they are written in terms.
    roundings : tuple of float
        By how much each prediction may be rounded in text; empty for classes.
    """

    def __init__(self, models, captions, is_forest=False):
        # The captions have no summary once tree_ has been replaced; the estimators have.
        summaries, table = [model._sample_summary for model in models], models[0]._table
        self.captions, self.features, self._is_forest = captions, table.features, is_forest
        self.classes = getattr(models[0], "classes_", None)
        self._trees = [model.tree_ for model in models]
        self.mean, self.std = (np.mean([getattr(each, name) for each in summaries], axis=0)
                               for name in ("mean", "std"))
        self.low = np.min([each.low for each in summaries], axis=0)
        self.high = np.max([each.high for each in summaries], axis=0)
        self.is_whole = np.array([each.kind == "number" and each.column in table.whole
                                  for each in table.features])
        self.factors = [factor(captions, j) for j in range(len(self.features))]
        self.roundings = () if self.classes is not None else tuple(
            tolerance_of(captions, output) for output in range(self._trees[0].n_outputs))

    @cached_property
    def used_columns(self):
        """The columns that some tree reads: no change of another one changes a prediction."""
        return {self.features[j].column for tree in self._trees for j in used_features(tree)}

    @cached_property
    def is_binary(self):
        """The features with two values in the training samples, and bools that varied."""
        # No numbers between two limits vary more than those of which a share p is at one of them,
        # and the others are at the other one.
        span = self.high - self.low
        p = np.clip((self.mean - self.low) / np.where(span > 0, span, 1.0), 0.0, 1.0)
        has_two_values = self.std >= span * np.sqrt((1 - ROUNDING) * p * (1 - p))
        # A missing bool is a number between them.
        has_two_values[[*self.captions.booleans]] = True
        return (self.low < self.high) & has_two_values

    def titles_of_targets(self, n_targets, alone):
        """Titles of the sums of several targets, or of a single one, list of str."""
        if n_targets == 1:
            return [alone]
        names = self.captions.target_names or [f"target {k}" for k in range(n_targets)]
        return [one_line(name) for name in names]

    def prediction(self, outputs):
        """The prediction of outputs of a tree or a forest, ndarray of shape (n_outputs,)."""
        if self.classes is None:
            return Prediction(
                float(outputs[0]) if len(outputs) == 1 else outputs,
                target_names=self.captions.target_names, roundings=self.roundings)
        best = outputs.argmax()
        proba = outputs if self._is_forest else softmax(outputs)
        # As Python's own type, which prints without numpy's name.
        return Prediction(self.classes.tolist()[best], float(proba[best]))


class Row(NamedTuple):
    """A sample as its explanation sees it.

    Attributes
    ----------
    x : ndarray of shape (n_features,)
        Encoded, as float64.
    gaps : frozenset of int
        Columns whose value is missing.
    """

    x: np.ndarray
    gaps: frozenset

    def names(self, context):
        """Names of the features; those of missing numbers say so, and conditions have parentheses.

        Parameters
        ----------
        context : Context

        Returns
        -------
        names, columns : list of str
            Name of each feature, and of the column that it encodes.
        values : dict of str to str
            What to write for columns that are not one number, such as "city = Rome".
        """
        features, captions = context.features, context.captions
        columns = [captions.column_names[each.column] for each in features]
        names = [
            f"{name} (missing)" if each.kind == "number" and each.column in self.gaps else name
            for name, each in zip(context.factors, features, strict=True)]
        values = {}
        for j, (column, each, x) in enumerate(zip(columns, features, self.x, strict=True)):
            shown, is_gap = one_line(column), each.column in self.gaps
            if x == 1 and each.kind != "number":
                values[column] = one_line(captions.feature_names[j])
            elif x == 0 and each.others:
                values[column] = each.other_name(shown)
            elif each.kind == "category":
                values.setdefault(column, f"{shown} is {'missing' if is_gap else 'unknown'}")
            elif j in captions.booleans and not is_gap:
                values[column] = f"{shown} is {bool(x)}"
        return names, columns, values


def encoded_rows(model, X):
    """Encode samples for an explanation.

    Parameters
    ----------
    model : fitted estimator
    X : array-like, data frame or CSR matrix of shape (n_samples, n_columns)

    Returns
    -------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The encoded samples.
    rows : list of Row
        Each of them.
    """
    raw = model._read(X)
    table = model._table
    X = table.transform(raw)
    return X, [Row(_dense(X, i), frozenset(
        table.numeric[np.isnan(_dense(raw.numbers, i))].tolist() + [
            int(j) for j, values in zip(table.categorical, raw.categories, strict=True)
            if is_missing(values[i])])) for i in range(X.shape[0])]


def _dense(X, i):
    return as_dense(X[[i]])[0].astype(np.float64)
