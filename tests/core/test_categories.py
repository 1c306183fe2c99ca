"""Encoded categories are those of scikit-learn's OneHotEncoder."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from ngdt._encoding import categories
from ngdt._encoding.categories import Categories

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


def by_hand(training, values, max_categories):
    """One-hot codes: means for unknown ones, none for fewer than five samples, and one for two."""
    codes, of_training, encoder = by_scikit_learn(training, values, max_categories)
    (rare,) = encoder.infrequent_categories_
    rare = () if rare is None else tuple(rare)
    if rare and of_training.shape[1] > 1 and of_training[:, -1].sum() < 5:
        codes, of_training, few = codes[:, :-1], of_training[:, :-1], rare
    else:
        few = ()
    codes[~codes.any(axis=1)] = of_training[of_training.any(axis=1)].mean(axis=0)
    if codes.shape[1] == 2:
        codes = codes[:, 1:]
    frequent = tuple(value for value in encoder.categories_[0] if value not in rare)
    return codes, (frequent, () if few else rare, few)


@given(columns(), st.sampled_from([2, 3, 4, 256]))
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_features_are_those_of_scikit_learn(column, max_categories):
    training, values = column
    with patch.object(categories, "_MAX_FEATURES", max_categories):
        fitted = Categories.fit(training)
    for each in (training, values):
        if not each:
            continue
        expected, groups = by_hand(training, each, max_categories)
        found, encoded = fitted.encode(each), np.zeros((len(each), fitted.n_features))
        encoded[found.samples, found.features] = found.numbers
        np.testing.assert_allclose(encoded, expected, rtol=1e-15)
        assert (fitted.frequent, fitted.rare, fitted.few) == groups
        known = {None if pd.isna(value) else value for value in training}
        assert found.is_unknown.tolist() == [
            (None if pd.isna(value) else value) not in known for value in each]


def test_files_of_before_keep_a_feature_for_each_of_two_categories():
    found = Categories(("a", "b"), ("c",)).encode(["a", "b", "c", "d", None])
    assert found.features.tolist() == [0, 1, 2, 2, 2]
    found = Categories(("a", "b"), ()).encode(["b", "d", "a"])
    assert (found.samples.tolist(), found.features.tolist()) == ([0, 2], [1, 0])
    assert found.numbers.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("values", [["a", 1], [["a"]], [("a",)], [b"a"]])
def test_values_that_are_no_categories_are_refused(values):
    with pytest.raises(TypeError):
        Categories.fit(values)


def test_the_most_frequent_of_many_categories_have_features():
    values = [k for k in range(300) for _ in range(5 + k)]
    fitted = Categories.fit(values)
    assert fitted.n_features == 256
    assert fitted.rare == tuple(range(45))
