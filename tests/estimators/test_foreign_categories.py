"""Categories that training did not know: a warning, where one among many is nothing special."""

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


@pytest.mark.parametrize(("sex", "share", "shown"), [
    (np.char.upper(SEX), 100, "'MALE'"), (np.where(SEX == "male", 1, 0), 100, "1"),
    (pd.Series([np.nan] * 40, dtype=str), 100, "nan"), (["male", "other"], 50, "'other'"),
    (pd.Categorical(["other"] * 40), 100, "'other'"), ([0], 100, "0"), (["other"], 100, "'other'"),
    (np.where(np.arange(40) < 3, "other", SEX), 8, "'other'"),
    (["MALE", "FEMALE"] * 3, 100, "'MALE'")])
def test_many_unknown_categories(fitted, sex, share, shown):
    message = (f"values that did not occur in training: {share} % of column 'sex', such as "
               f"{shown}, unlike 'female' in training. All count as unknown "
               "categories: check their spelling and their type")
    with pytest.warns(UserWarning, match=re.escape(message)) as found:
        predicted = fitted.predict(frame(sex))
    assert len(found) == 1
    assert len(predicted) == len(sex)


@pytest.mark.parametrize("sex", [np.where(np.arange(40) < 2, "other", SEX), SEX])
def test_few_unknown_categories_of_many(fitted, sex):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(frame(sex))


def test_texts_are_compared_with_a_text_of_training():
    notes = np.where(np.arange(40) % 4, None, [f"note {k}" for k in range(40)])
    model = ObliqueTreeClassifier(optimizer=None).fit(frame(SEX).assign(note=notes), Y)
    with pytest.warns(UserWarning, match="column 'note', such as 'other', unlike 'note 0' in"):
        model.predict(frame(SEX).assign(note="other"))


def test_one_warning_for_all_columns():
    two = frame(SEX).assign(city=["Rome", "Oslo", "Lima", "Bern"] * 10)
    model = ObliqueTreeClassifier(optimizer=None).fit(two, Y)
    with pytest.warns(UserWarning, match=(
            "training: 100 % of column 'sex', such as 'x', unlike .*; 100 % of column 'city', such "
            "as 1, unlike")) as found:
        model.predict(two.assign(sex="x", city=1))
    assert len(found) == 1


def test_categories_of_too_few_samples_are_known():
    sex = SEX.copy()
    sex[:2] = "other"
    model = ObliqueTreeClassifier(optimizer=None).fit(frame(sex), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame(["other"]))


def test_missing_values_that_occurred_in_training():
    fitted = ObliqueTreeClassifier(optimizer=None).fit(
        frame(np.where(AGE > 0, SEX, None)), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(frame(pd.Series([None] * 40, dtype=str)))
    with pytest.warns(UserWarning, match="100 % of column 'sex', such as 'MALE'"):
        fitted.predict(frame(np.char.upper(SEX)))


def test_a_column_of_names():
    names = [f"person {i}" for i in range(40)]
    two = frame(names).assign(name=names)
    with pytest.warns(UserWarning, match=r"columns \['sex', 'name'\] are rare") as found:
        ObliqueTreeClassifier(optimizer=None).fit(two, Y)
    assert len(found) == 1
    model = ObliqueTreeClassifier(optimizer=None)
    with pytest.warns(UserWarning, match=(
            r"columns \['sex'\] are rare.* drop them.* convert them to numbers")):
        model.fit(frame(names), Y)
    assert model.encoded_feature_names_ == ["age", "sex is rare"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(frame(names[:9]), Y[:9])      # too few for any other
        # All rare, but they tell what is missing.
        model.fit(frame([name if i % 2 else None for i, name in enumerate(names)]), Y)
