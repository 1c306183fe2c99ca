"""Explanations as text, tables and pictures, of numbers, categories and gaps."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from explained import model_of
from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt.explanation._sums import WeightedSum
from ngdt.explanation._text import term_lines
from ngdt.export import export_text
from ngdt.optimizers import TAO
from ngdt.plotting import plot_explanation
from ngdt.plotting._style import short
from ngdt.testing.strategies import dyadics, problems

pd = pytest.importorskip("pandas")

UNKNOWN = pytest.mark.filterwarnings("ignore:X. values that did not occur")
CITIES = ["Lima", "Oslo", "Rome"]
RELATIONS = {"<=": np.less_equal, ">=": np.greater_equal}


def on_a_table(**arrays):
    """A classifier of a table with cities, rare ones too, and gaps, with a tree of these arrays."""
    city = [*CITIES * 10, *["Ulm", "Bern"] * 3]
    age = np.r_[np.nan, np.nan, np.arange(30.0), [np.nan] * 4]
    frame = pd.DataFrame({"city": city, "age": age})
    # Gaps and rare cities tell something of the class.
    y = np.isnan(age) | (np.array(city) == "Ulm") | (np.array(city) == "Bern")
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, y.astype(int))
    assert model.encoded_feature_names_ == [
        "age", "age is missing", "city = Lima", "city = Oslo", "city = Rome", "city is rare"]
    model.tree_ = Tree(values=[[1.0, 0.0], [0.0, 1.0]], children_left=[~0], children_right=[~1],
                       **arrays)
    return model, frame


def test_conditions_in_terms_have_parentheses():
    model, frame = on_a_table(weights=[[1.0, 2.0, 0.0, 0.0, -3.0, 0.0]], thresholds=[0.0])
    names = model.explain(frame[:1])[0].path[0].terms.names
    assert set(names) == {"age (missing)", "(age is missing)", "(city = Rome)"}


@UNKNOWN
def test_terms_of_a_column_are_one_line():
    weights = [[1.0, 2.0, 5.0, 0.0, -3.0, 1.0]]
    model, frame = on_a_table(weights=weights, thresholds=[0.0])
    numbers = ObliqueTreeClassifier(1, optimizer=None).fit(frame[["age"]], frame["city"])
    frame = pd.concat([frame[:32], pd.DataFrame({"city": ["Mars"], "age": [7.0]})])
    shown = ["city = Lima", "city = Rome", "city is rare", "city is rare"]
    for i, city in zip((0, 2, 30, 32), shown, strict=True):
        (explanation,) = model.explain(frame.iloc[i:i + 1])
        terms, columns = explanation.path[0].terms, explanation.path[0].terms.by_column()
        age = "age is missing" if i == 0 else "age"
        assert set(columns.names) == {city, age}
        for name, column in ((city, "city"), (age, "age")):
            own = [k for k, each in enumerate(terms.columns) if each == column]
            total = columns.contributions[columns.names.index(name)]
            assert total == pytest.approx(terms.contributions[own].sum())
        lines = explanation.text().splitlines()[4:6]
        age = age if i == 0 else f"age = {frame['age'].iloc[i]:g} (mean 14.5)"
        assert {line.split(maxsplit=1)[1] for line in lines} == {city, age}
        rows = explanation.to_frame()
        assert set(rows["column"][1:]) == {"city", "age"}
        assert len(rows) == 6
    numbers.tree_ = Tree([[1.0, 1.0]], [3.0], [~0], [~1], np.eye(2, 5))
    assert "age is missing" in str(numbers.explain(frame[["age"]][:1])[0])


@UNKNOWN
def test_categories_that_have_no_feature_are_unknown():
    frame = pd.DataFrame({"city": CITIES * 10, "age": np.arange(30.0)})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, np.arange(30) % 2)
    model.tree_ = Tree([[1.0, 2.0, -1.0, 3.0]], [0.0], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    for city, state in (("Mars", "unknown"), (None, "missing"), (np.nan, "missing")):
        text = str(model.explain(pd.DataFrame({"city": [city], "age": [7.0]}))[0])
        assert f"city is {state}" in text


def test_two_categories_are_one_term(plt):
    frame = pd.DataFrame({"sex": ["male", "female"] * 10, "age": np.arange(20.0)})
    y = np.arange(20) % 2
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(frame, y)
    tree.tree_ = Tree([[0.1, -2.0]], [0.0], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    forest = ObliqueForestClassifier(
        3, init="random_oblique", optimizer=None, max_depth=2, random_state=0).fit(frame, y)
    for model in (tree, forest):
        (explanation,) = model.explain(frame[:1])
        (ax,) = plot_explanation(explanation)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        lines = re.findall("sex = male$", explanation.text(), re.M)
        assert len(lines) == labels.count("sex = male") == 1
        terms = [line for line in str(explanation).splitlines() if not line.startswith("if ")]
        assert "(sex" not in f"{terms} {labels}"
    assert "    -1     sex = male\n    -0.95  age = 0 (mean 9.5)" in str(tree.explain(frame[:1])[0])
    assert "    +1     sex = female\n" in str(tree.explain(frame[1:2])[0])
    changed = tree.explain(frame[1:2])[0].changes_of_one_column()
    assert "sex female to male" in str(changed)


@UNKNOWN
@pytest.mark.parametrize("cities", [["Oslo", "Rome"], CITIES])
def test_a_tree_on_cities_alone(cities):
    """Unknown ones have the means of all features, and are not called by one of the categories."""
    frame = pd.DataFrame({"city": cities * 10, "age": 0.0})
    y = (frame["city"] == "Rome").to_numpy()
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(frame, y)
    for city in cities:
        explanation = tree.explain(pd.DataFrame({"city": [city], "age": 0.0}))[0]
        assert explanation.prediction.value == (city == "Rome")
        changes = explanation.changes_of_one_column()
        assert {each.values["city"] for each in changes} == (
            {*cities} - {"Rome"} if city == "Rome" else {"Rome"})
        assert {each.before["city"] for each in changes} == {city}
    explanation = tree.explain(pd.DataFrame({"city": ["Mars"], "age": 0.0}))[0]
    changes = explanation.changes_of_one_column()
    assert {each.before["city"] for each in changes} == {"unknown"}
    assert str(changes[0]).startswith("city unknown to ")
    tree.tree_ = Tree([[1.0] * tree.tree_.n_features], [0.0], [~0], [~1], np.eye(2))
    assert "city is unknown" in str(tree.explain(pd.DataFrame({"city": ["Mars"], "age": 0.0}))[0])


def test_lists_of_changes_can_be_read():
    model, frame = on_a_table(weights=[[0, 0, 0, 0, 1, 0]], thresholds=[0.5])
    changes = model.explain(frame[1:2])[0].changes_of_one_column()
    assert repr(changes) == "[<Change: city Oslo to Rome: 1 (0.731)>]"


@pytest.mark.parametrize("estimator", [
    ObliqueTreeClassifier(2, optimizer="tao", random_state=0),
    ObliqueForestClassifier(3, max_depth=2, optimizer=None, random_state=0)])
def test_names_of_columns_can_be_given(iris, estimator):
    X, y = iris
    names = ["sepal", "sepal width", "petal", "petal width"]
    model = estimator.fit(X, y)
    named = estimator.__class__(**estimator.get_params()).fit(pd.DataFrame(X, columns=names), y)
    found = model.explain(X[50:53], feature_names=names)
    expected = named.explain(pd.DataFrame(X[50:53], columns=names))
    assert [str(each) for each in found] == [str(each) for each in expected]
    with pytest.raises(ValueError, match="feature_names must be a sequence of 4 names"):
        model.explain(X[:1], feature_names=["a"])


def following(lines, answers):
    """The leaf of nested conditions that these answers lead to."""
    for condition, answer in answers:
        middle = lines.index("else:")
        assert lines[0] == condition
        below = lines[1:middle] if answer == "yes" else lines[middle + 1:]
        lines = [line.removeprefix("    ") for line in below]
    return lines


@pytest.mark.parametrize("optimizer", [None, TAO(max_iter=2)], ids=str)
def test_the_answers_of_a_path_lead_to_the_leaf_in_the_text_of_the_tree(optimizer):
    random, n = np.random.default_rng(0), 300
    frame = pd.DataFrame({
        "city": random.choice([*CITIES, None], n), "own": random.random(n) < 0.5,
        "age": np.where(random.random(n) < 0.2, np.nan, random.normal(size=n))})
    y = (frame["city"] == "Rome") & frame["own"] | (frame["age"] > 0.5)
    model = ObliqueTreeClassifier(4, optimizer=optimizer, validation_fraction=None).fit(frame, y)
    lines, words = export_text(model).splitlines(), set()
    for explanation in model.explain(frame[:20]):
        first, *rest = str(explanation).splitlines()
        starts = [i for i, line in enumerate(rest) if line.startswith("if ")]
        answers = [(rest[i], re.match("    (yes|no)", rest[i + 1])[1]) for i in starts]
        assert following(lines[1:], answers)[0] == first
        assert [re.search(r"\? (yes|no)", title)[1] for title, *_ in explanation._panels()] == [
            answer for _, answer in answers]
        words |= {re.split("[,;]", rest[i + 1])[-2].strip() for i in starts}
    if optimizer is None:
        assert {"yes", "city = Lima", "own is True", "age is missing"} <= words


def test_limits_are_those_of_the_text_of_the_tree():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = ObliqueTreeClassifier(3, optimizer=None).fit(X, X[:, 0] * X[:, 1] > 0.2)
    text = export_text(model)
    for explanation in model.explain(X[:40]):
        said = [line for line in str(explanation).splitlines() if line.startswith("if ")]
        assert len(said) == len(explanation.path)
        assert all(line in text for line in said)


def test_the_whole_text():
    X = np.array([[0.0, 0.0], [4.0, 2.0], [2.0, 4.0], [2.0, 2.0]])
    tree = Tree([[1.0, 2.0], [0.0, 1.0]], [7.0, 1.5], [1, ~0], [~2, ~1],
                [[0.0, 4.0], [4.0, 0.0], [0.0, 2.0]])
    model = ObliqueTreeClassifier(1, optimizer=None).fit(X, ["no", "yes", "no", "yes"])
    model.tree_ = tree
    model._table = replace(model._table, whole=())      # so that numbers have decimals
    explanation = model.explain([[2.5, 2.0]])[0]
    assert str(explanation) == """\
no (0.982)
if 2 * x1 + 1 * x0 <= 7:
    yes, by 0.5 (0.16 standard deviations); otherwise the tree predicts yes (0.881)
    -1    at the mean
    +0.5  x0 = 2.5 (mean 2)
    +0    x1 = 2 (mean 2)
if x1 <= 1.5:
    no, x1 = 2 (0.35 standard deviations); otherwise the tree predicts yes (0.982)
changes to another class:
    x1 2 to 2.26 (0.18 standard deviations): yes (0.881)
    x0 2.5 to 3.01 (0.35 standard deviations): yes (0.881)
    x1 2 to 2.21, x0 2.5 to 2.61 (0.16 standard deviations): yes (0.881)"""
    assert explanation.text(n_terms=1).splitlines()[3:6] == [
        "    -1    at the mean", "    +0.5  x0 = 2.5 (mean 2)", "    +0    1 more"]


def test_values_are_those_of_the_table(plt):
    """A year or a number of an account is found again, however little it differs from others."""
    year = np.arange(2012, 2026)
    frame = pd.DataFrame({"year": year, "account": 97000 + 7 * year % 300, "share": year / 7e4})
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(frame, year > 2019)
    forest = ObliqueForestClassifier(
        3, init="random_oblique", max_depth=1, optimizer=None, random_state=0)
    forest.fit(frame, year > 2019)
    for row, answer in ((7, "yes, year = 2019 "), (8, "no, year = 2020 ")):
        explanation = tree.explain(frame[row:row + 1])[0]
        assert f"if year <= 2019:\n    {answer}" in str(explanation)
        (change,) = explanation.changes_of_one_column()
        before, after = re.fullmatch(r"year (\S+) to (\S+) .*", str(change)).groups()
        assert float(before) == year[row]
        assert (float(after) > 2019.5) != (year[row] > 2019.5)
    tree.tree_ = Tree([[1.0, 1.0, 1.0]], [0.0], [~0], [~1], np.eye(2))
    for model in (tree, forest):
        explanation = model.explain(frame[:1])[0]
        (ax,) = plot_explanation(explanation)
        labels = " ".join(label.get_text() for label in ax.get_yticklabels())
        for value in re.findall(" = ([0-9.]+)", f"{explanation} {labels}"):
            assert value in ("2012", str(frame["account"][0]), "0.0287", "0.02874")
        assert "2012" in labels
        assert "= 2012 (mean 2018)" in str(explanation)


def test_values_near_the_mean_are_told_from_it():
    lat = 52.5 + np.arange(-4, 5) / 1234567
    frame = pd.DataFrame({"lat": lat, "nanoseconds": 17 * 10**17 + np.arange(9) * 10**16})
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(frame, lat > 52.5)
    tree.tree_ = Tree([[1e6, 1e-16]], [52500171.0], [~0], [~1], np.eye(2))
    explanation = str(tree.explain(frame[:1])[0])
    assert "lat = 52.499997 (mean 52.5)" in explanation
    assert "nanoseconds = 1.7e+18 (mean 1.74e+18)" in explanation
    assert "lat 52.499997 to 52.5 (" in explanation


def test_values_near_a_limit_are_told_from_it():
    lat = 52.5 + np.arange(-150, 150) / 1234567
    frame = pd.DataFrame({"lat": lat})
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(frame, lat > 52.50003)
    for row, written in ((0, "52.4999"), (299, "52.5001")):
        explanation = str(tree.explain(frame[row:row + 1])[0])
        assert re.findall(r"lat = (\S+) |lat (\S+) to", explanation) == [
            (written, ""), ("", written)]


@pytest.mark.parametrize("model", [
    ObliqueTreeRegressor(1, init="info_gain", optimizer=None),
    ObliqueTreeRegressor(1, leaf="linear", optimizer="tao", validation_fraction=None),
    ObliqueForestRegressor(2, init="info_gain", optimizer=None, max_depth=1, random_state=0)])
def test_predictions_that_differ_little_look_different(model):
    x = np.linspace(-1, 1, 100)[:, None]
    y = 1013.25 + 0.001 * (x[:, 0] > 0)
    low, high = model.fit(x, y).explain(x[[0, -1]])
    assert str(low.prediction).startswith("1013.25")
    for explanation in (low, high):
        value = float(str(explanation.prediction))
        assert abs(value - explanation.prediction.value) < 1e-6
        parts = re.findall(r"^    ([+-]\S+)  .*mean", str(explanation), flags=re.MULTILINE)
        assert not parts or abs(sum(map(float, parts)) - value) < 2e-4


def test_a_change_is_never_from_a_number_to_itself():
    frame = pd.DataFrame({"size": 0.5 + 1e-9 * np.arange(10)})
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(frame, np.arange(10) > 4)
    for row in (4, 5):
        (change,) = tree.explain(frame[row:row + 1])[0].changes_of_one_column()
        before, after = re.fullmatch(r"size (\S+) to (\S+) .*", str(change)).groups()
        assert float(before) != float(after)
        assert abs(float(after) - change.values["size"]) < 1e-9


def test_means_of_standardized_features_are_zero(iris):
    X, y = iris
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = ObliqueTreeClassifier(leaf="linear", max_depth=0, optimizer=None).fit(X, y)
    means = re.findall(r"\(mean (.*)\)", model.explain(X[:1])[0].text(n_terms=None))
    assert means
    assert set(means) == {"0"}


def test_sums_that_rounding_keeps_from_zero_are_zero():
    terms = WeightedSum(
        ["a", "b", "c"], np.zeros(3), np.ones(3), np.ones(3), np.array([0.7, -4e-14, -5e-15]),
        total=0.7, base=-3.7e-14, columns=["a", "b", "c"])
    assert term_lines(terms, 1) == [
        "    +0    at the mean", "    +0.7  a = 0 (mean 1)", "    +0    2 more"]


@given(st.data())
def test_conditions_are_true_of_the_sample_and_of_all_beyond(data):
    weight, threshold, value, probe = (
        data.draw(dyadics(numerators=st.integers(-2000, 2000), exponents=st.integers(-9, 1)))
        for _ in range(4))
    if not weight or (abs(weight) < 1 and not threshold):
        return      # the tree has no split, or one beside zero, where products underflow
    model = model_of(Tree([[weight]], [threshold], [~0], [~1], [[0.0], [1.0]]))
    explanation = model.explain([[value]])[0]
    sign, limit, answer, shown = re.search(
        r"if x0 (\S+) (\S+):\n    (\S+), x0 = (\S+) ", str(explanation)).groups()
    relation, limit = RELATIONS[sign], float(limit)
    assert relation(value, limit) == relation(float(shown), limit) == (answer == "yes")
    if relation(probe, limit) == (answer == "yes"):
        assert model.apply([[probe]])[0] == explanation.leaf


@given(problems(linear_leaves=st.booleans(), n_outputs=st.integers(1, 2),
                n_internal=st.integers(1, 6), n_samples=st.integers(1, 2)))
def test_a_frame_adds_up_to_the_sums(problem):
    tree = problem.tree
    explanations = model_of(tree).explain(problem.X)
    frame = explanations.to_frame()
    for i, explanation in enumerate(explanations):
        own = frame[frame["sample"] == i].drop(columns="sample").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, explanation.to_frame(), check_dtype=False)
        total = own.groupby("sum")["contribution"].sum()
        assert total.size == len(explanation.path) + len(explanation.leaf_terms)
        for decision in explanation.path:
            name = f"node {decision.node}"
            size = own.loc[own["sum"] == name, "contribution"].abs().sum()
            assert abs(total[name] - decision.margin) <= 1e-12 * size
        terms = own[own["feature"] != "at the mean"]
        np.testing.assert_allclose(
            terms["contribution"].to_numpy(float),
            (terms["weight"] * (terms["value"] - terms["mean"])).to_numpy(float))


def test_frames_need_pandas(monkeypatch, iris):
    explanations = ObliqueTreeClassifier(1, optimizer=None).fit(*iris).explain(iris[0][:1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        explanations.to_frame()


def test_categories_are_named():
    model, frame = on_a_table(weights=[[0, 0, 0, 0, 1, 0]], thresholds=[0.5])
    text = str(model.explain(frame[1:2])[0])
    assert "if city is Rome:\n    no, city = Oslo; otherwise the tree predicts 1 (0.731)\n" in text
    assert "    city Oslo to Rome: 1 (0.731)" in text


def test_every_change_of_a_column_leads_to_another_class():
    weights = [[0.5, 3.0, -1.0, 2.0, 0.0, 9.0]]
    model, frame = on_a_table(weights=weights, thresholds=[6.0])
    n_changes = set()
    for i in (0, 1, 2, 3, 4, 18, 30):
        row = frame[i:i + 1]
        explanation = model.explain(row)[0]
        changes = explanation.changes_of_one_column()
        changed = {column for each in changes for column in each.values}
        n_changes.add(len(changes))
        for each in changes:
            assert model.predict(row.assign(**each.values))[0] == each.prediction.value
            assert each.prediction.value != explanation.prediction.value
        # The other cities and, for a scan, many ages: all that a column may become.
        others = [city for city in [*CITIES, "Ulm"] if city != row["city"].iloc[0]]
        for column, values in (("city", others), ("age", np.linspace(0, 29, 291))):
            other = pd.concat([row] * len(values)).assign(**{column: values})
            flips = (model.predict(other) != explanation.prediction.value).any()
            assert flips == (column in changed)
        for column in ("city", "age"):
            free = explanation.changes_of_one_column(fixed=[column])
            assert [str(each) for each in free] == [
                str(each) for each in changes if column not in each.values]
        together = explanation.smallest_change(within_range=False)
        if i < 2:       # the age is missing
            assert together is None
        else:
            assert [*together.values] == ["age"]
            assert model.predict(row.assign(**together.values)) != model.predict(row)
    assert len(n_changes) > 2


def test_a_gap_is_filled_by_the_number_nearest_to_the_mean():
    model, frame = on_a_table(weights=[[1.0, 30.0, 0, 0, 0, 0]], thresholds=[20.25])
    (change,) = model.explain(frame[:1])[0].changes_of_one_column()
    assert frame["age"].mean() < 20.25      # so that the mean itself leads to the other side
    assert change.values == {"age": 14.0}       # next to a mean of 14.5
    assert np.isnan(change.distance)
    assert str(change) == "age missing to 14: 0 (0.731)"
    model, frame = on_a_table(weights=[[-1.0, 0.0, 0, 0, 0, 0]], thresholds=[-20.25])
    (change,) = model.explain(frame[:1])[0].changes_of_one_column()
    assert change.values == {"age": 21.0}      # a limit of 20.25
    assert change.texts == {"age": "21"}


def test_a_missing_number_in_a_sum_adds_nothing():
    X = np.random.default_rng(0).normal(1000.0, 300.0, size=(200, 2))
    y = X[:, 0] > X[:, 1]
    X[::7, 0] = np.nan
    tree = ObliqueTreeClassifier(1, optimizer=TAO(), validation_fraction=None).fit(X, y)
    terms = tree.explain(X[:1])[0].path[0].terms.by_column()
    added = dict(zip(terms.columns, terms.contributions.tolist(), strict=True))
    assert added["x0"] == 0.0 != added["x1"]


@pytest.mark.parametrize("was_missing", [True, False])
def test_missing_numbers_are_called_missing(was_missing):
    """Also where the column had none, or one, in training, and thus has no indicator."""
    X = np.r_[np.arange(20.0), [np.nan] * was_missing][:, None]
    model = ObliqueTreeClassifier(1, optimizer=None).fit(X, X[:, 0] > 12)
    (explanation,) = model.explain([[np.nan]])
    assert explanation.path[0].terms.names == ["x0 (missing)"]
    rule, reason = (" (or missing)", "") if was_missing else ("", " and counts as 9.5")
    assert (f"if x0 <= 12.5{rule}:\n    yes, x0 is missing{reason}; otherwise the tree predicts "
            "True ") in str(explanation)
    (change,) = explanation.changes_of_one_column()
    assert change.before == {"x0": None}
    assert np.isnan(change.distance)
    assert model.predict([[change.values["x0"]]])[0]
    assert explanation.smallest_change() is None


def test_predictions_are_written_with_a_decimal():
    year = np.arange(1950.0, 2026.0)[:, None]
    y = 1000 + year[:, 0] / 2
    tree = ObliqueTreeRegressor(max_depth=2, leaf="constant", optimizer=None).fit(year, y)
    (explanation,) = tree.explain(year[:1])
    text = f"{tree.predict(year[:1])[0]:.1f} [{tree.n_node_samples_[-4]}]"
    assert str(explanation).startswith(f"{text}\n")
    forest = ObliqueForestRegressor(
        3, init="info_gain", optimizer=None, max_depth=2, random_state=0).fit(year, y)
    (explanation,) = forest.explain(year[:1])
    ((_, terms),) = explanation.sums().items()
    assert f"+{terms.base:.1f}  mean prediction" in str(explanation)


def test_a_prediction_that_is_cut_says_so():
    X = np.arange(20.0)[:, None]
    model = ObliqueTreeRegressor(0, leaf="linear", optimizer=None).fit(X, X[:, 0])
    (first, *_), *_ = model.explain([[100.0]])[0]._panels()
    assert re.fullmatch("linear leaf: 9.*, cut to 19", first)
    assert "cut" not in str(model.explain(X[7:8]))


def test_explanations_say_why_they_list_no_changes(iris):
    X = np.arange(20.0)[:, None]
    model = ObliqueTreeClassifier(1, optimizer=None).fit(X, X[:, 0] > 9)
    model.tree_ = model.tree_.replace(values=[[0.0, 1.0], [0.0, 2.0]])
    assert str(model.explain(X[:1])[0]).endswith(
        "\nno change of one column within the range of the training samples leads to another class")
    forest = ObliqueForestClassifier(
        2, optimizer=None, leaf="linear", max_depth=1, random_state=0).fit(*iris)
    assert str(forest.explain(iris[0][:1])[0]).endswith(
        "\nchanges to another class are not known for linear leaves")


def test_changes_that_are_not_shown_are_counted():
    X, y = load_wine(return_X_y=True, as_frame=True)
    (explanation,) = ObliqueTreeClassifier(
        0, leaf="linear", optimizer=None).fit(X, y).explain(X.iloc[[130]])
    n = len(explanation.changes_of_one_column())
    assert n > 3
    assert f"\n    {n - 3} more changes of one column\n" in str(explanation)
    assert "more changes" not in explanation.text(None)


def test_a_sum_is_drawn_once(plt):
    X = np.random.default_rng(0).normal(size=(40, 2))
    bands = Tree([[1.0, 2.0]] * 2, [5.0, 3.0], [1, ~0], [~2, ~1], np.eye(3))
    axes = plot_explanation(model_of(bands, X).explain([[1.0, 0.5]])[0])
    assert [ax.get_title(loc="left") for ax in axes] == [
        "sum ≤ 5? yes", "the same sum ≤ 3? yes, by 1"]
    assert [len(ax.patches) for ax in axes] == [4, 0]


def test_the_answer_of_a_long_rule_is_seen(plt):
    name, texts = "history of credits", ["delayed in previous years", "paid at all other banks"]
    X = pd.DataFrame({name: np.repeat([*texts, "none"], 20)})
    model = ObliqueTreeClassifier(max_depth=1, optimizer=None).fit(X, X[name] == texts[0])
    (ax,) = plot_explanation(model.explain(X[20:21])[0])
    assert ax.get_title(loc="left") == (
        f'{name} is "{texts[0]}"? no,\n{name} = "{texts[1]}"')


def test_nothing_to_change():
    X = np.arange(10.0)[:, None]
    model = ObliqueTreeRegressor(0, optimizer=None).fit(X, X[:, 0])
    (explanation,) = model.explain(X[:1])
    assert str(explanation) == "4.5 [10]"
    assert repr(explanation) == "<TreeExplanation: 4.5>"
    assert explanation.to_frame().empty
    assert explanation.smallest_change() is None
    assert explanation.changes_of_one_column() == []


# --- pictures -----------------------------------------------------------------------------------


def test_bars_lead_from_the_mean_to_the_sum(plt):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    tree = Tree(rng.normal(size=(2, 6)), [0.1, 0.2], [1, ~0], [~2, ~1], rng.normal(size=(3, 1)),
                slopes=rng.normal(size=(3, 1, 6)))
    (explanation,) = model_of(tree, X).explain(X[:1])
    axes = plot_explanation(explanation, n_terms=3)
    sums = explanation.sums()
    assert [ax.get_title(loc="left") for ax in axes] == [
        short(title, 60) for title, *_ in explanation._panels()]
    for ax, terms in zip(axes, sums.values(), strict=True):
        bars = ax.patches[1:-1]
        assert bars[0].get_x() == pytest.approx(terms.base)
        widths = [bar.get_width() for bar in bars]
        np.testing.assert_allclose(widths[:3], terms.contributions[:3])
        assert widths[3] == pytest.approx(terms.contributions[3:].sum())
        assert bars[-1].get_x() + widths[-1] == pytest.approx(terms.total)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert [label.split(" ")[0] for label in labels[1:4]] == terms.names[:3]
        assert labels[4] == "3 more"
    numbers = [text.get_text() for ax in axes for text in ax.texts]
    assert any(number.startswith("−") for number in numbers)    # as on the axis
    assert not any(number.startswith("-") for number in numbers)


def test_bars_of_a_rule_on_one_number_are_in_its_unit(plt):
    X = np.arange(20.0).reshape(10, 2)      # means 9 and 10
    tree = Tree([[0.0, -0.25]], [-1.5], [~0], [~1], np.eye(2))
    (explanation,) = model_of(tree, X).explain([[0.0, 7.0]])
    (ax,) = plot_explanation(explanation)
    assert ax.get_title(loc="left") == "x1 ≥ 6? yes"
    (bar,) = ax.patches[1:-1]
    assert (bar.get_x(), bar.get_width()) == (-4.0, 3.0)


def test_rules_on_categories_have_no_bars(plt):
    table = pd.DataFrame({
        "city": np.repeat(["Bern", "Rome"], 20), "age": np.tile(np.arange(20.0), 2)})
    model = ObliqueTreeRegressor(2, leaf="constant", optimizer=None).fit(
        table, np.where(table["city"] == "Rome", table["age"] > 9, 5.0))
    first, second = plot_explanation(model.explain(table[-1:])[0])
    assert [first.get_title(loc="left"), second.get_title(loc="left")] == [
        "city is Rome? yes, city = Rome", "age ≤ 9.5? no"]
    assert [len(ax.patches) for ax in (first, second)] == [0, 3]
    assert [text.get_text() for text in first.texts] == ["← no: predicts 5", "yes: predicts 1 →"]


def test_a_plot_tells_what_the_sides_and_the_colours_mean(plt, iris):
    X, y = iris
    names = np.array(["setosa", "versi$color", "virgin$ica"])
    model = ObliqueTreeClassifier(2, optimizer=None).fit(X, names[y])
    explanation = model.explain(X[100:101])[0]
    axes = plot_explanation(explanation)
    axes[0].figure.canvas.draw()    # dollar signs begin no formula
    for ax, decision in zip(axes, explanation.path, strict=True):
        *_, left, right = [text.get_text() for text in ax.texts]
        here, other = (right, left) if decision.is_right else (left, right)
        assert str(explanation.prediction) in here
        assert str(decision.otherwise) in other
        assert left.startswith("← yes: predicts ")
        assert right.startswith("no: predicts ")
        assert right.endswith(" →")
    (legend,) = axes[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "lowers the sum (to the left)", "raises the sum (to the right)"]
    forest = ObliqueForestClassifier(2, optimizer=None, random_state=0).fit(X, names[y])
    # The log-odds are of the second class, whichever is the prediction.
    linear = ObliqueTreeClassifier(0, leaf="linear").fit(X[:100], names[y[:100]])
    for model in (forest, linear):
        (ax,) = plot_explanation(model.explain(X[:1])[0])
        assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == [
            "lowers the sum", "raises the sum"]


@pytest.mark.parametrize("optimizer", [None, "tao"])
def test_samples_near_the_largest_number_are_drawn(plt, iris, optimizer):
    tree = ObliqueTreeClassifier(2, optimizer=optimizer, random_state=0).fit(*iris)
    for size in (1e308, -1.7e308):
        axes = plot_explanation(tree.explain(np.full((1, 4), size))[0])
        assert np.isfinite([ax.get_xlim() for ax in axes]).all()


def test_a_prediction_is_written_once(plt, iris):
    X, y = iris
    for model in (ObliqueForestRegressor(2, optimizer=None, random_state=0),
                  ObliqueForestClassifier(2, optimizer=None, random_state=0)):
        explanation = model.fit(X, y).explain(X[60:61])[0]
        (ax,) = plot_explanation(explanation)
        titles = [ax.figure.get_suptitle(), ax.get_title(loc="left")]
        assert titles.count(f"prediction: {explanation.prediction}") == 1


def test_axes_that_are_given(plt, iris):
    model = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    explanation = model.explain(iris[0][100:101])[0]
    _, axes = plt.subplots(1, 3)
    assert plot_explanation(explanation, ax=axes) == list(axes[:2])
    with pytest.raises(ValueError, match="ax must be at least 2 matplotlib Axes, got 1"):
        plot_explanation(explanation, ax=axes[0])
    with pytest.raises(ValueError, match="n_terms must be a positive int or None, got 0"):
        plot_explanation(explanation, n_terms=0)
    with pytest.raises(TypeError, match=r"of one sample, such as .*\(X\)\[0\], got Expl"):
        plot_explanation(model.explain(iris[0]))


def test_numbers_of_terms_and_targets_that_are_none(iris):
    (explanation,) = ObliqueTreeClassifier(2, optimizer=None).fit(*iris).explain(iris[0][:1])
    for text in (explanation.text, explanation.changes_of_one_column()[0].text):
        for n_terms in (-1, 0, 2.0):
            with pytest.raises(ValueError, match="n_terms must be a positive int or None, got"):
                text(n_terms)
    for target in ([], [1], [2, 1, 0], "versicolor"):
        with pytest.raises(ValueError, match=r"target must be one of the other .*\[1, 2\], got"):
            explanation.smallest_change(target)


def test_a_plot_without_sums_is_empty(plt):
    (explanation,) = ObliqueTreeRegressor(0, optimizer=None).fit([[0.0], [1.0]], [0, 1]).explain(
        [[0.0]])
    assert plot_explanation(explanation) == []


@pytest.mark.parametrize(("name", "is_below"), [("yes", False), ("serious delinquency", True)])
def test_long_texts_of_a_picture_do_not_overlap(name, is_below, plt):
    pd = pytest.importorskip("pandas")
    column = "a_very_long_name_of_a_column_that_says_all"
    X = pd.DataFrame({column: np.arange(40.0), "x": np.arange(40.0) % 7})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(
        X, np.where(X[column] > 20, name, f"no {name}"))
    (ax,) = plot_explanation(model.explain(X[:1])[0])
    *_, left, right = ax.texts
    assert (left.xyann[1] > right.xyann[1]) == is_below
    assert "a_very_long_n…that_says_all = 0" in [each.get_text() for each in ax.get_yticklabels()]


def test_a_picture_of_several_targets_gives_each_its_own_number(plt):
    X = np.arange(40.0)[:, None]
    names = [f"a long name of target {k}" for k in range(5)]
    y = pd.DataFrame(np.where(X > 20, 9.0, 1.0) * np.arange(1, 6), columns=names)
    model = ObliqueTreeRegressor(1, leaf="constant", optimizer=None).fit(X, y)
    (ax,) = plot_explanation(model.explain(X[:1])[0])
    *_, left, right = [text.get_text() for text in ax.texts]
    assert left.startswith(f"← yes: predicts {names[0]} = 1, a long")
    assert right.startswith(f"no: predicts {names[0]} = 9, a long")
    figure = ax.figure
    title = figure.get_suptitle()
    assert all(f"{name} = {k + 1}" in title.replace("\n", " ") for k, name in enumerate(names))
    figure.draw_without_rendering()
    extent = figure._suptitle.get_window_extent()
    assert extent.width < figure.bbox.width
    assert extent.y1 <= figure.bbox.height


def test_a_category_that_is_called_rare_is_no_group_of_rare_ones():
    table = pd.DataFrame({"city": np.repeat(["rare", "Rome"], 20)})
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(table, table["city"] == "rare")
    (change,) = tree.explain(table[:1])[0].changes_of_one_column()
    assert str(change).startswith('city "rare" to Rome')


def test_a_missing_category_that_is_rare_was_missing():
    table = pd.DataFrame({"city": ["Oslo"] * 20 + ["Rome"] * 20 + ["Bern"] * 4 + [None] * 4})
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(table, np.repeat([0, 1], [40, 8]))
    of_bern, of_gap = (changes[0] for changes in (
        each.changes_of_one_column() for each in tree.explain(table[-5:-3])))
    assert (of_bern.before, of_gap.before) == ({"city": "rare"}, {"city": None})
    assert str(of_gap).startswith("city missing to Oslo")


def test_names_in_explanations_stay_in_their_line():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "a_b": random.normal(size=90), "c_d": random.choice(["u_v", "w", "x"], 90),
        "e_f": pd.array(random.random(90) < 0.5, dtype="boolean")})
    frame.loc[::5, "a_b"] = frame.loc[::6, "c_d"] = frame.loc[::7, "e_f"] = None
    total = frame["a_b"].fillna(2) + (frame["c_d"] == "u_v") + frame["e_f"].fillna(False)
    labels = np.array(["l_o", "m_id", "h_i"])[np.digitize(total, total.quantile([0.3, 0.7]))]
    targets = pd.DataFrame({"p_q": total, "r_s": -total})
    broken = frame.rename(columns=lambda name: name.replace("_", "\n")).replace("u_v", "u\nv")
    for model, y, broken_y in (
            (ObliqueTreeClassifier(3, optimizer=TAO(max_iter=2), random_state=0), labels,
             np.char.replace(labels, "_", "\n")),
            (ObliqueTreeClassifier(0, leaf="linear", random_state=0), labels,
             np.char.replace(labels, "_", "\n")),
            (ObliqueForestClassifier(3, init="info_gain", optimizer=None, random_state=0), labels,
             np.char.replace(labels, "_", "\n")),
            (ObliqueTreeRegressor(1, leaf="linear", random_state=0), targets,
             targets.set_axis(["p\nq", "r\ns"], axis=1))):
        wanted = [str(each) for each in model.fit(frame, y).explain(frame[:6])]
        found = [str(each) for each in model.fit(broken, broken_y).explain(broken[:6])]
        assert [text.replace("\\n", "_").replace('"', "") for text in found] == wanted
        if not hasattr(model, "estimators_"):
            assert "\n" not in export_text(model).splitlines()[-1]


def test_predicted_numbers_are_those_of_the_text_of_the_tree():
    X = np.arange(40.0)[:, None]
    y = np.repeat([141379.7, 82931.2, 357377.5, 213667.4], 10)
    model = ObliqueTreeRegressor(2, leaf="constant", optimizer=None).fit(X, y)
    texts = {line.split()[0] for line in export_text(model).splitlines() if line.endswith("]")}
    assert texts == {"141400", "82900", "357400", "213700"}
    for explanation in model.explain(X[::10]):
        assert str(explanation.prediction) in texts
        assert {str(each.otherwise) for each in explanation.path} <= texts
