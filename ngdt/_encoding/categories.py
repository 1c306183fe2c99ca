"""Categories of a column, and the indicator features that encode them."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from numbers import Real

import numpy as np

from ngdt._encoding.columns import is_missing

# Least number of samples of a category that has a feature; largest number of features of a column.
MIN_SAMPLES, _MAX_FEATURES = 5, 256
# Placeholders for the features of values without one, and of values not in the dictionary.
_NONE, _NOT_FOUND = -1, -2


@dataclass(frozen=True)
class Categories:
    """Categories of a column, as the `OneHotEncoder` of scikit-learn orders them.

    `OneHotEncoder.transform` takes milliseconds for a single sample; a dictionary takes
    microseconds.

    Attributes
    ----------
    frequent : tuple
        Categories with a feature of their own, sorted. None, the missing category, comes last.
    rare : tuple
        Categories that share the last feature, in the same order.
    """

    frequent: tuple
    rare: tuple

    @classmethod
    def fit(cls, values):
        """Learn the categories of training samples.

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
        if not any(all(isinstance(value, type_) for value in count)
                   for type_ in (str, Real | np.bool_)):
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
        # Without `feature`: skops cannot store a dictionary with None as a key.
        return {"frequent": self.frequent, "rare": self.rare}

    @property
    def n_features(self):
        """Number of features."""
        return len(self.frequent) + bool(self.rare)

    def are_foreign(self, values):
        """Return whether values are of another type than the column, or many and all unknown.

        A few values that are unknown from training are nothing special.

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
        """Feature of each value, intp of shape (n_values,); -1 for values without one.

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
    """Mask of the rare categories; of equally frequent ones, the first become rare."""
    is_rare = n_samples < MIN_SAMPLES
    if np.count_nonzero(~is_rare) >= _MAX_FEATURES:
        is_rare[np.argsort(n_samples, kind="stable")[:1 - _MAX_FEATURES]] = True
    return is_rare
