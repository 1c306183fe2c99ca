"""Base of the explanations of trees and of forests."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ngdt._util.optional import import_optional
from ngdt._util.validation import check_counts
from ngdt.explanation._changes import Search
from ngdt.explanation._context import Context, Prediction, Row
from ngdt.explanation._goals import ClassGoal, RangeGoal


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(ABC):
    """The explanation of one prediction."""

    prediction: Prediction
    _context: Context
    _row: Row
    _outputs: np.ndarray

    def _goal(self, target):
        """The predictions that changes are to reach."""
        if self._context.classes is None:
            return RangeGoal(self._outputs, target)
        return ClassGoal(self._context.classes, self._outputs.argmax(), target)

    @abstractmethod
    def _outputs_of(self, points):
        """The leaves and the outputs of points; a forest has no leaves, but None."""

    @abstractmethod
    def _boundaries(self, goal):
        """The sums at whose limits predictions may change, as for `nearest_on_axes`."""

    def changes_of_one_column(self, target=None, fixed=(), within_range=True):
        """The smallest change of each single column that changes the prediction.

        They are exact: the decisions of a tree change at finitely many values of a column. Numbers
        that were whole in training change to whole ones. A category changes to any other one of the
        training samples, and so does a number that has two values there, such as False and True. A
        missing number is replaced by the number nearest to the mean. The leaves of a forest have to
        be constant.

        Parameters
        ----------
        target : label, or tuple of (float, float), default=None
            The class to be predicted, or the range of the predicted number. None stands for any
            other class and, for regression by a tree, for any other leaf.
        fixed : array-like of str, int or bool, default=()
            The columns that may not change: names, indices or a mask.
        within_range : bool, default=True
            Whether numbers stay between the least and the largest of the training samples.

        Returns
        -------
        list of Change
            The smallest first, in standard deviations; at last those of categories, of missing
            numbers and of numbers with two values. Columns that cannot change the prediction alone
            are left out.
        """
        search = Search(self, target, fixed, within_range)
        # Features that did not vary have no unit, and sums near the largest number overflow.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return search.of_one_column()

    def text(self, n_terms=3):
        """The explanation as text.

        Parameters
        ----------
        n_terms : int or None, default=3
            Number of terms of a sum, and of changes, that are written. The others are summed up.
            None writes all.

        Returns
        -------
        str
        """
        check_counts(n_terms=n_terms)
        return "\n".join(self._lines(n_terms))

    @abstractmethod
    def _lines(self, n_terms):
        """The lines of the text."""

    @abstractmethod
    def sums(self):
        """All weighted sums of the explanation.

        Returns
        -------
        dict of str to WeightedSum
            By what is summed up, such as "node 0".
        """

    @abstractmethod
    def _panels(self):
        """The title of each sum, and the outcomes of a split for a sum below zero and above it.

        Returns
        -------
        list of (str, bool, (str, str) or None)
            The title, whether the terms are drawn, and answer and prediction of the left and of the
            right side; None for other sums.
        """

    def to_frame(self):
        """The terms as a data frame of pandas.

        Returns
        -------
        pandas.DataFrame
            A row for each term; `sum` is the name of its sum, `feature` an encoded feature and
            `column` the column of X that it encodes. The first row of a sum is its value at the
            mean, so that `contribution` adds up to the sum.
        """
        return Explanations([self]).to_frame().drop(columns="sample")

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"<{type(self).__name__}: {self.prediction}>"


class Explanations(tuple):
    """Explanations of several predictions, one for each sample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> explanations = ObliqueTreeClassifier(max_depth=2, optimizer=None).fit(X, y).explain(X[:2])
    >>> len(explanations), explanations[1].prediction.value
    (2, 0)
    """

    __slots__ = ()

    def to_frame(self):
        """The terms of all explanations as a data frame of pandas.

        Returns
        -------
        pandas.DataFrame
            As for a single explanation. The column `sample` is the position of the sample.
        """
        pd = import_optional("pandas", "to_frame needs", "pandas")
        rows = [
            {"sample": i, "sum": name} | row for i, each in enumerate(self)
            for name, terms in each.sums().items() for row in _rows_of(terms)]
        return pd.DataFrame(rows, columns=[
            "sample", "sum", "column", "feature", "value", "mean", "weight", "contribution"])

    def __str__(self):
        return "\n\n".join(map(str, self))


class Explains:
    """Mixin of estimators that explain their predictions."""

    def explain(self, X: ArrayLike, feature_names: Sequence[str] | None = None) -> Explanations:
        """Explain the prediction for each sample: paths or votes, terms, nearest changes.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        feature_names : sequence of str, default=None
            Names of the columns. None takes ``feature_names_in_``.

        Returns
        -------
        tuple of TreeExplanation or ForestExplanation
            One for each sample. Print it, or see :class:`ngdt.explanation.TreeExplanation` and
            :class:`ngdt.explanation.ForestExplanation`.
        """
        check_is_fitted(self)
        # Sums over values near the largest number overflow, and are cut.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return Explanations(self._explanations(X, feature_names))


def _rows_of(terms):
    """Rows of the table of a weighted sum: they add up to the total."""
    yield {"feature": terms.base_name, "contribution": terms.base}
    for (name, value, mean, contribution), weight, column in zip(
            terms._rows(), terms.weights, terms.columns, strict=True):
        yield {"column": column, "feature": name, "value": value, "mean": mean, "weight": weight,
               "contribution": contribution}
