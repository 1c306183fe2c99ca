"""Categories that can hardly be meant: a warning, where a few unknown ones are nothing special."""

import re
import warnings

import numpy as np
import pytest

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier

pd = pytest.importorskip("pandas")

SEX = np.array(["male", "female"] * 20)
AGE = np.random.default_rng(0).normal(size=40)
Y = (SEX == "male") ^ (AGE > 1)


def frame(sex):
    return pd.DataFrame({"age": AGE[:len(sex)], "sex": sex})


@pytest.fixture(scope="module", params=[ObliqueTreeClassifier, ObliqueForestClassifier])
def fitted(request):
    return request.param(optimizer=None, random_state=0).fit(frame(SEX), Y)


@pytest.mark.parametrize(("sex", "shown"), [
    (np.char.upper(SEX), "'MALE'"), (np.where(SEX == "male", 1, 0), "1"),
    (pd.Series([None] * 40, dtype=str), "nan"), (pd.Categorical(["other"] * 40), "'other'"),
    ([0], "0"), (["MALE", "FEMALE"] * 3, "'MALE'")])
def test_columns_of_which_nothing_was_known(fitted, sex, shown):
    message = (f"no value of column 'sex' occurred in training: it has values such as {shown}, "
               "where 'female', 'male' were expected")
    with pytest.warns(UserWarning, match=re.escape(message)) as found:
        predicted = fitted.predict(frame(sex))
    assert len(found) == 1
    assert len(predicted) == len(sex)


@pytest.mark.parametrize("sex", [
    ["other"], ["MALE", None], [None], np.where(np.arange(40) < 39, "other", "male"),
    pd.Categorical(["male", "other"] * 20), SEX])
def test_a_few_unknown_categories(fitted, sex):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(frame(sex))


def test_missing_values_that_occurred_in_training():
    fitted = ObliqueTreeClassifier(optimizer=None).fit(
        frame(np.where(AGE > 0, SEX, None)), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(frame(pd.Series([None] * 40, dtype=str)))
    with pytest.warns(UserWarning, match="'female', 'male', None were expected"):
        fitted.predict(frame(np.char.upper(SEX)))


def test_a_column_of_names():
    names = [f"person {i}" for i in range(40)]
    model = ObliqueTreeClassifier(optimizer=None)
    with pytest.warns(UserWarning, match="all 40 categories of column 'sex' are rare.*drop the"):
        model.fit(frame(names), Y)
    assert model.encoded_feature_names_ == ["age", "sex is rare"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(frame(names[:9]), Y[:9])      # too few for any other
        # All rare, but they tell what is missing.
        model.fit(frame([name if i % 2 else None for i, name in enumerate(names)]), Y)
