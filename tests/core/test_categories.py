"""Encoded categories are those of scikit-learn's OneHotEncoder, but for those of noise."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, kruskal
from sklearn.preprocessing import OneHotEncoder

from ngdt._encoding import categories
from ngdt._encoding.categories import Categories, TargetTest

pd = pytest.importorskip("pandas")

# What columns write for a missing value. No two NaN need be the same object.
MISSING = st.sampled_from([None, np.nan, pd.NA]) | st.builds(float, st.just("nan"))
VALUES = st.sampled_from([
    st.sampled_from(["", "a", "b", "B", "éa", "zz"]),
    st.sampled_from([-1, 0, 1, True, 1.5, np.float64(2.5), np.inf])])


@st.composite
def columns(draw):
    """Training values, and others, some of them unknown."""
    values = draw(VALUES)
    training = draw(st.lists(values, min_size=1, max_size=30))
    repeats = draw(st.lists(st.integers(1, 9), min_size=30, max_size=30))
    training = [value for value, n in zip(training, repeats, strict=False) for _ in range(n)]
    missing = st.lists(MISSING, max_size=7)
    return (draw(st.permutations(training + draw(missing))),
            draw(st.lists(values | MISSING, max_size=20)) + draw(missing))


def by_scikit_learn(training, values, max_categories):
    """One-hot codes as scikit-learn has them, and the mean of each in training."""
    def as_column(values):
        column = np.empty((len(values), 1), dtype=object)
        column[:, 0] = [None if pd.isna(value) else value for value in values]
        return column

    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5,
                            max_categories=max_categories, sparse_output=False)
    of_training = encoder.fit_transform(as_column(training))
    return encoder.transform(as_column(values)), of_training, encoder


def deserves_feature(targets, group):
    if min(group.sum(), (~group).sum()) < 5:
        return False
    return chi2_contingency(pd.crosstab(targets, group), correction=False).pvalue < 0.05


def by_hand(training, values, max_categories, targets):
    """One-hot codes: means for unknown ones, none that tells nothing, and one for two."""
    codes, of_training, encoder = by_scikit_learn(training, values, max_categories)
    (rare,) = encoder.infrequent_categories_
    rare, few = () if rare is None else tuple(rare), ()
    frequent = tuple(value for value in encoder.categories_[0] if value not in rare)
    left = np.ones(codes.shape[1], dtype=bool)
    if frequent and rare and not deserves_feature(targets, of_training[:, -1] > 0):
        left[-1], rare, few = False, (), rare
    if len(frequent) > 1 and frequent[-1] is None and not rare:
        missing = len(frequent) - 1
        if not deserves_feature(targets, of_training[:, missing] > 0):
            left[missing], frequent, few = False, frequent[:-1], (*few, None)
    codes, of_training = codes[:, left], of_training[:, left]
    codes[~codes.any(axis=1)] = of_training[of_training.any(axis=1)].mean(axis=0)
    if codes.shape[1] == 2:
        codes = codes[:, 1:]
    return codes, (frequent, rare, few)


@given(columns(), st.sampled_from([2, 3, 4, 256]), st.data())
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_features_are_those_of_scikit_learn(column, max_categories, data):
    training, values = column
    told = data.draw(st.sampled_from(training))     # a category, or gaps, with a class of its own
    targets = np.array([
        pd.isna(each) if pd.isna(told) else not pd.isna(each) and each == told
        for each in training], dtype=np.intp)
    with patch.object(categories, "_MAX_FEATURES", max_categories):
        fitted = Categories.fit(training, TargetTest(targets))
    for each in (training, values):
        if not each:
            continue
        expected, groups = by_hand(training, each, max_categories, targets)
        samples, features, filled, is_unknown = fitted.encode(each)
        encoded = np.zeros((len(each), fitted.n_features))
        encoded[samples, features] = 1.0
        encoded[filled] = fitted.fill
        if each is training:
            assert np.count_nonzero(encoded) <= fitted.n_stored(each) <= encoded.size + len(each)
        np.testing.assert_allclose(encoded, expected, rtol=1e-15)
        assert (fitted.frequent, fitted.rare, fitted.few) == groups
        known = {None if pd.isna(value) else value for value in training}
        assert is_unknown.tolist() == [
            (None if pd.isna(value) else value) not in known for value in each]


@pytest.mark.parametrize("values", [["a", 1], [["a"]], [("a",)], [b"a"]])
def test_values_that_are_no_categories_are_refused(values):
    with pytest.raises(TypeError):
        Categories.fit(values, TargetTest(np.zeros(len(values), dtype=np.intp)))


def test_the_most_frequent_of_many_categories_have_features():
    values = [k for k in range(300) for _ in range(5 + k)]
    fitted = Categories.fit(values, TargetTest((np.array(values) < 45).astype(np.intp)))
    assert fitted.n_features == 256
    assert fitted.rare == tuple(range(45))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0.05, 0.95))
def test_gaps_tell_of_the_targets_by_the_tests_of_scipy(seed, n_classes, share):
    rng = np.random.default_rng(seed)
    group = rng.random(rng.integers(10, 60)) < share
    labels = np.where(group & (rng.random(len(group)) < 0.3), 0, rng.integers(
        0, n_classes, len(group)))
    amounts = np.exp(labels) + rng.normal(size=len(group)).round(1)
    assert TargetTest(labels)(group) == deserves_feature(labels, group)
    expected = min(group.sum(), (~group).sum()) >= 5 and (
        kruskal(amounts[group], amounts[~group]).pvalue < 0.05)
    assert TargetTest(amounts)(group) == expected
    # Neither units, nor a far target, nor a constant one make a difference.
    last = amounts == amounts.max()
    for each in (3.0 * amounts, np.where(last, 1e300, amounts)):
        assert TargetTest(np.column_stack([each, np.ones(len(group))]))(group) == expected
