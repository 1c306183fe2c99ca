"""The categories of a column, and the indicator features that they become."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from numbers import Real

import numpy as np

from ngdt._encoding.columns import is_missing

# Least number of samples of a category that has a feature; largest number of features of a column.
MIN_SAMPLES, _MAX_FEATURES = 5, 256
# Stand for the features of values that have none, and of values that are not in the dictionary.
_NONE, _NOT_FOUND = -1, -2


@dataclass(frozen=True)
class Categories:
    """The categories of a column, as the `OneHotEncoder` of scikit-learn orders them.

    Its `transform` takes milliseconds for a single sample; a dictionary takes microseconds.

    Attributes
    ----------
    frequent : tuple
        Those with a feature of their own, sorted; None, the missing one, comes last.
    rare : tuple
        Those that share the last feature, in the same order.
    """

    frequent: tuple
    rare: tuple

    @classmethod
    def fit(cls, values):
        """The categories of training samples.

        Parameters
        ----------
        values : list
            Missing ones are None, NaN or pandas.NA.

        Raises
        ------
        TypeError
            If the values are of several types, or of one that is neither string nor number.
        """
        count = Counter(values)
        n_missing = sum(count.pop(value) for value in [*filter(is_missing, count)])
        if not any(all(isinstance(value, kind) for value in count)
                   for kind in (str, Real | np.bool_)):
            raise TypeError("neither all strings nor all numbers")
        known = sorted(count)
        n_samples = [count[value] for value in known]
        if n_missing:
            known, n_samples = [*known, None], [*n_samples, n_missing]
        is_rare = _are_rare(np.array(n_samples))
        frequent, rare = (
            tuple(value for value, flag in zip(known, is_rare, strict=True) if flag == wanted)
            for wanted in (False, True))
        return cls(frequent, rare)

    @cached_property
    def feature(self):
        """Feature of each category, dict."""
        return {value: k for k, value in enumerate(self.frequent)} | dict.fromkeys(
            self.rare, len(self.frequent))

    def __getstate__(self):
        # Without what follows; skops cannot store a dictionary in which None is a key.
        return {"frequent": self.frequent, "rare": self.rare}

    @property
    def n_features(self):
        """Number of features."""
        return len(self.frequent) + bool(self.rare)

    def are_foreign(self, values):
        """Whether values can hardly be of the column: of another type, or many and all unknown.

        A few values that are unknown in training are nothing special.

        Parameters
        ----------
        values : list
        """
        known, has_missing = self.feature, None in self.feature
        if any(value in known or (has_missing and is_missing(value)) for value in values):
            return False
        is_text = any(isinstance(value, str) for value in known)
        return len(values) >= MIN_SAMPLES or any(
            isinstance(value, str) != is_text and not is_missing(value) for value in values)

    def features_of(self, values):
        """Feature of each value, intp of shape (n_values,); -1 for those that have none.

        Parameters
        ----------
        values : list
            Unknown ones count as rare, if there are rare ones.
        """
        found = np.fromiter(
            map(self.feature.get, values, repeat(_NOT_FOUND)), np.intp, len(values))
        others = np.flatnonzero(found == _NOT_FOUND)
        if len(others):
            unknown = len(self.frequent) if self.rare else _NONE
            missing = self.feature.get(None, unknown)
            found[others] = [missing if is_missing(values[i]) else unknown for i in others]
        return found


def _are_rare(n_samples):
    """Whether each category is rare; of equally frequent ones, the first are."""
    is_rare = n_samples < MIN_SAMPLES
    if np.count_nonzero(~is_rare) >= _MAX_FEATURES:
        is_rare[np.argsort(n_samples, kind="stable")[:1 - _MAX_FEATURES]] = True
    return is_rare
