"""Categories of a column, and the indicator features that encode them."""

import json
import re
from collections import Counter
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import repeat
from numbers import Integral, Real

import numpy as np
from scipy.special import chdtrc
from scipy.stats import rankdata

from ngdt._encoding.columns import is_missing
from ngdt._util.numbers import exact, format_number
from ngdt._util.text import visible
from ngdt._util.validation import type_names

# Least number of samples that a feature of categories or gaps tells from others: the spread of one
# that a single sample has would make its weight, and so all unknown values, count as much as the
# rest of the table. Largest number of features of a column. Level of significance of what gaps and
# rare categories tell of the targets.
MIN_SAMPLES, _MAX_FEATURES, _LEVEL = 5, 256, 0.05
# Placeholders for the features of `few`, and of unknown categories; -1 stands for the first of two
# groups.
_FEW, _UNKNOWN = -2, -3
# Words that need no quotes, and those that texts use themselves.
_WORD, _RESERVED = re.compile(r"[^\W\d][\w.'-]*"), {
    "and", "in", "is", "missing", "not", "or", "rare", "unknown", "True", "False"}


def category_text(category):
    """A category for readers: in quotes, unless it is a number or a word that texts do not use.

    Parameters
    ----------
    category : str or number

    Returns
    -------
    str

    Examples
    --------
    >>> print(*map(category_text, ["Rome", "New York", "a, b", "or", "7", 7]))
    Rome "New York" "a, b" "or" "7" 7
    """
    text = str(category) if isinstance(category, bool) else plain_text(category)
    is_plain = not isinstance(category, str) or (
        _WORD.fullmatch(text) and text not in _RESERVED)
    return text if is_plain else visible(json.dumps(text, ensure_ascii=False))


def plain_text(category):
    """A category without quotes; a number with all its digits, since others differ in the last."""
    if isinstance(category, str):
        return str.__str__(category)    # of a member of an enumeration, the value
    if isinstance(category, Integral):
        return str(int(category))
    is_number = isinstance(category, Real) and np.isfinite(category)
    return format_number(exact(category)) if is_number else str(category)


class TargetTest:
    """Test whether samples with gaps, or with rare categories, deserve a feature.

    Values that training does not know may be much more frequent later on. A weight that is noise,
    as it is where few samples set it, then costs more than it is worth. So there have to be at
    least `MIN_SAMPLES` samples of the group, as many others, and a significant difference between
    the targets of both: by the chi-squared test of classes, by the test of Kruskal and Wallis of
    numbers, whose ranks no far target moves.

    Parameters
    ----------
    targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Integers are indices of classes.
    """

    def __init__(self, targets):
        self.targets = targets

    def __call__(self, group):
        """Return whether the samples of a group, ndarray of bool, deserve a feature."""
        n, n_group = len(group), np.count_nonzero(group)
        if min(n_group, n - n_group) < MIN_SAMPLES:
            return False
        if self.targets.dtype.kind in "iu":
            mean = variance = np.bincount(self.targets) / n
            of_group = np.bincount(self.targets[group], minlength=len(mean)) / n_group
            n_free = np.count_nonzero(mean) - 1
        else:
            ranks = self._ranks
            mean, variance = ranks.mean(axis=0), ranks.var(axis=0, ddof=1)
            of_group, n_free = ranks[group].mean(axis=0), np.count_nonzero(variance)
        varies = variance > 0.0
        statistic = ((of_group - mean)[varies] ** 2 / variance[varies]).sum()
        return bool(n_free and chdtrc(n_free, statistic * n_group * n / (n - n_group)) < _LEVEL)

    @cached_property
    def _ranks(self):
        # Sorted once for all columns, and not at all if none has gaps.
        return rankdata(self.targets.reshape(len(self.targets), -1), axis=0)


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
    few : tuple
        Categories that count as unknown ones: rare ones, or the missing one, that have too few
        samples for a feature or tell nothing of the targets.
    fill : tuple of float
        Values of the features for an unknown category: those of a rare one or, if none is rare,
        the means in training. At most two groups of categories have a single feature, of the last.
    """

    frequent: tuple
    rare: tuple
    few: tuple
    fill: tuple

    @classmethod
    def fit(cls, values, deserves_feature):
        """Learn the categories of training samples.

        Parameters
        ----------
        values : list
            Missing ones are None, NaN or pandas.NA.
        deserves_feature : TargetTest
            Of the same samples.

        Raises
        ------
        TypeError
            If the values are of several types, or of one that is neither string nor number.
        """
        count = Counter(values)
        missing = {*filter(is_missing, count)}
        n_missing = sum(count.pop(value) for value in missing)
        if not any(all(isinstance(value, type_) for value in count)
                   for type_ in (str, Real | np.bool_)):
            raise TypeError(f"of type {type_names(count)}")
        known = sorted(count)
        n_samples = [count[value] for value in known]
        if n_missing:
            known, n_samples = [*known, None], [*n_samples, n_missing]
        n_samples = np.array(n_samples)
        is_rare, few = _are_rare(n_samples), ()
        frequent, rare = (
            tuple(value for value, flag in zip(known, is_rare, strict=True) if flag == wanted)
            for wanted in (False, True))
        n_frequent = n_samples[~is_rare]
        # Without any other feature, the rare ones have a constant one.
        if frequent and rare and not deserves_feature(_are_in(
                {*rare} | (missing if None in rare else set()), values)):
            rare, few = (), rare
        # Beside rare ones, the missing one would count as one of them.
        if len(frequent) > 1 and frequent[-1] is None and not rare and not deserves_feature(
                _are_in(missing, values)):
            frequent, n_frequent, few = frequent[:-1], n_frequent[:-1], (*few, None)
        fill = (n_frequent / n_frequent.sum()).tolist()
        if rare:
            fill = [0.0] * len(frequent) + [1.0]
        return cls(frequent, rare, few, tuple(fill[-1:] if len(fill) == 2 else fill))

    @property
    def groups(self):
        """Categories that are not told from each other, list of tuple; the last may be rare."""
        return [*((value,) for value in self.frequent), *([self.rare] if self.rare else [])]

    @cached_property
    def feature(self):
        """Feature of each category, dict; negative for those without one."""
        groups = self.groups
        n_without = len(groups) - self.n_features
        return {value: k - n_without for k, group in enumerate(groups) for value in group} | (
            dict.fromkeys(self.few, _FEW))

    def __getstate__(self):
        # Without `feature`: skops cannot store a dictionary with None as a key.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def n_features(self):
        """Number of features."""
        return len(self.fill)

    def encode(self, values):
        """Encode values as the features of the column.

        Parameters
        ----------
        values : list
            Unknown ones count as rare, if there are rare ones.

        Returns
        -------
        samples, features : ndarray of intp, shape (n_entries,)
            The samples of known categories, and the feature of each that is 1.
        filled : ndarray of intp
            The samples whose features are `fill`.
        is_unknown : ndarray of bool, shape (n_samples,)
            Whether the value of a sample did not occur in training.
        """
        feature = np.fromiter(
            map(self.feature.get, values, repeat(_UNKNOWN)), np.intp, len(values))
        missing = self.feature.get(None)
        if missing is not None:
            others = np.flatnonzero(feature == _UNKNOWN)
            feature[others] = [
                missing if is_missing(values[i]) else _UNKNOWN for i in others]
        samples = np.flatnonzero(feature >= 0)
        return samples, feature[samples], np.flatnonzero(feature <= _FEW), feature == _UNKNOWN

    def n_stored(self, values):
        """Number of features of some values that are not zero, at most.

        Parameters
        ----------
        values : list
        """
        few = {*self.few} | {*filter(is_missing, values)} if None in self.few else {*self.few}
        n_few = np.count_nonzero(_are_in(few, values)) if few else 0
        return len(values) + n_few * (np.count_nonzero(self.fill) - 1)


def _are_in(group, values):
    return np.fromiter(map(group.__contains__, values), bool, len(values))


def _are_rare(n_samples):
    """Mask of the rare categories; of equally frequent ones, the first become rare."""
    is_rare = n_samples < MIN_SAMPLES
    if np.count_nonzero(~is_rare) >= _MAX_FEATURES:
        is_rare[np.argsort(n_samples, kind="stable")[:1 - _MAX_FEATURES]] = True
    return is_rare
