"""What the explanations of trees and of forests have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ngdt.explanation._context import Context, Prediction


@dataclass(frozen=True, repr=False)
class Explanation(ABC):
    """The explanation of one prediction."""

    prediction: Prediction
    _context: Context = field(compare=False)
    _x: np.ndarray = field(compare=False)
    _outputs: np.ndarray = field(compare=False)

    @property
    def _best(self):
        """Index of the predicted class."""
        return int(self._outputs.argmax())

    @abstractmethod
    def text(self, n_terms=3):
        """The explanation as text."""

    @abstractmethod
    def _rows(self):
        """Rows of the table of an explanation, as dictionaries."""

    def to_frame(self):
        """The terms as a data frame of pandas.

        Returns
        -------
        pandas.DataFrame
            A row for each term.
        """
        return Explanations([self]).to_frame().drop(columns="sample")

    def plot(self, n_terms=5, axes=None):
        """Plot the terms: :func:`ngdt.plotting.plot_explanation`.

        Parameters
        ----------
        n_terms : int, default=5
            Number of terms of a sum that are drawn. The others are summed up.
        axes : array of matplotlib Axes, default=None
            Where to draw: at least one for each sum. None makes a new figure.

        Returns
        -------
        list of matplotlib Axes
        """
        from ngdt.plotting import plot_explanation

        return plot_explanation(self, n_terms=n_terms, axes=axes)

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
            A row for each term. The column `sample` is the position of its sample.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: python -m pip install pandas") from error
        return pd.DataFrame([
            {"sample": i} | row for i, each in enumerate(self) for row in each._rows()])

    def __str__(self):
        return "\n\n".join(map(str, self))
