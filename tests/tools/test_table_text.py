"""Text and plots of trees on encoded tables speak of the columns."""

import html

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers import in_nightly, rules_text
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._inspection.captions import captions_of
from ngdt._inspection.path_constants import without_constants
from ngdt._inspection.rules import category_rule_of
from ngdt.export import (
    export_frame,
    export_graphviz,
    export_html,
    export_rules,
    export_sql,
)
from ngdt.plotting import plot_tree

pd = pytest.importorskip("pandas")

CITIES = ["Lima", "Oslo", "Rome"]


def fitted(extra=()):
    """A stump for a column of cities, with further ones, and a column of numbers."""
    city = [*CITIES * 10, *extra]
    frame = pd.DataFrame({"city": city, "age": np.arange(float(len(city)))})
    return ObliqueTreeClassifier(1, optimizer=None).fit(frame, np.arange(len(city)) % 2)


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
@given(st.booleans(), st.lists(st.integers(-2, 2), min_size=5, max_size=5),
       st.sampled_from([-2.5, -1.0, -0.5, 0.0, 0.5, 1.0]))
def test_rules_of_categories_are_those_of_the_tree(rare, weights, threshold):
    model = fitted([None] * 6 + (["Ulm", "Bern"] if rare else []))
    n_features = model.tree_.n_features
    # The first feature is the column of numbers.
    weights = np.array([0, *weights, 0, 0][:n_features], dtype=float)
    model.tree_ = Tree([weights], [threshold], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    rule = category_rule_of(captions_of(model), 0)
    if rule is None:
        scores = weights[1:]
        assert threshold < scores.min() or threshold >= scores.max()
        return
    known = [*CITIES, None, "Ulm", "Mars"]
    leaf = model.apply(pd.DataFrame({"city": known, "age": 0.0}))
    for city, side in zip(known, leaf, strict=True):
        name = "missing" if city is None else city
        if name not in (*CITIES, "missing"):
            name = "rare"
        assert ((name in rule.categories) == rule.is_left) == (side == 0)


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("threshold", [-0.5, 0.3, 0.7])
@pytest.mark.parametrize(("extra", "name"), [
    ([], "city = Rome"), (["Ulm"] * 2, "city = Rome"), ([None] * 6, None),
    (["Ulm", "Bern"] * 3, None)])
def test_rules_of_two_categories_are_those_of_the_tree(extra, name, threshold, sign):
    city = ["Oslo", *["Rome"] * 2][name is None:] * 10 + extra
    frame = pd.DataFrame({"city": city, "age": np.arange(float(len(city)))})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, np.arange(len(city)) % 2)
    assert len(model.encoded_feature_names_) == 2
    assert name in (None, model.encoded_feature_names_[1])
    model.tree_ = Tree([[0.0, sign]], [sign * threshold], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    rule = category_rule_of(captions_of(model), 0)
    known = {*city, "Mars"}
    sides = dict(zip(known, model.apply(pd.DataFrame(
        {"city": [*known], "age": 0.0})).tolist(), strict=True))
    if rule is None:
        assert len({*sides.values()}) == 1
        return
    for value, side in sides.items():
        is_listed = {"Oslo": "Oslo", "Rome": "Rome", None: "missing"}.get(
            value, "rare") in rule.categories
        assert (is_listed == rule.is_left) == (side == 0)


@pytest.mark.parametrize(("weights", "threshold", "left", "right"), [
    ([0, 0, 0, 1], 0.5, "city is any other than Rome", "city is Rome"),
    ([0, 0, 0, -1], -0.5, "city is Rome", "city is any other than Rome"),
    ([0, 1, 0, 1], 0.7, "city is any other than {Lima, Rome}", "city in {Lima, Rome}"),
    ([0, -1, 0, -1], -0.7, "city in {Lima, Rome}", "city is any other than {Lima, Rome}"),
])
def test_conditions_name_categories(weights, threshold, left, right):
    model = fitted()
    model.tree_ = Tree([weights], [threshold], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    rule = category_rule_of(captions_of(model), 0)
    assert [rule.text(left=True), rule.text(left=False)] == [left, right]
    # What they are comes first, and what they are not is the other branch.
    first, second = ("0", "1") if "other" in right else ("1", "0")
    condition = right if "other" in left else left
    text = f"if {condition}:\n    {first} (0.731)\nelse:\n    {second} (0.731)"
    assert rules_text(model) == text
    assert rules_text(model, feature_names=["town", "a"]) == text.replace("city", "town")


@pytest.mark.parametrize(("category", "written"), [
    ("Rome", "Rome"), ("full-time", "full-time"), ("New York", '"New York"'), ("a, b", '"a, b"'),
    ("or", '"or"'), ("rare", '"rare"'), ("missing", '"missing"'), ("7", '"7"'), ("", '""'),
    ('the "7"', r'"the \"7\""'), ("a\nb", r'"a\nb"')])
def test_categories_are_quoted_alike_where_they_are_no_plain_word(category, written):
    pytest.importorskip("matplotlib").use("agg")
    frame = pd.DataFrame({"city": [category, "Oslo", "Lima"] * 10, "age": np.arange(30.0)})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, frame["city"] == category)
    rule = f"city is {written}"
    assert rules_text(model).startswith(f"if {rule}:\n")
    assert rule in str(export_rules(model)[1])
    assert rule in html.unescape(export_html(model))
    assert rule in [text.get_text() for text in plot_tree(model).texts]
    changes = model.explain(frame[1:2])[0].changes_of_one_column()
    assert str(changes[0]).startswith(f"city Oslo to {written}: ")
    model.tree_ = model.tree_.replace(weights=np.ones_like(model.tree_.weights))
    assert f"(city = {written})" in rules_text(model)
    assert f" city = {written}\n" in str(model.explain(frame[:1])[0])
    # Where data are read, names and values stay as they are.
    assert category in {name.partition(" = ")[2] or name.partition(" is ")[2]
                        for name in model.encoded_feature_names_}


def test_no_condition_is_a_negation_that_an_else_negates_again():
    random, n = np.random.default_rng(0), 300
    frame = pd.DataFrame({"city": random.choice([*CITIES, None], n), "own": random.random(n) < 0.5})
    y = (frame["city"] == "Rome") & frame["own"] | frame["city"].isna()
    model = ObliqueTreeClassifier(3, optimizer=None).fit(frame, y)
    assert "city is any other than Rome" in str(export_rules(model))     # the left child
    assert "city is any other than Rome" in export_frame(model)["rule"].to_list()
    lines = rules_text(model).splitlines()
    assert "city is Rome" in "".join(lines)
    texts = [rules_text(model), export_html(model), export_graphviz(model), export_sql(model)]
    assert not any("other than" in text or "NOT" in text for text in texts)
    texts = [*texts, str(export_rules(model)), export_frame(model).to_string()]
    assert not any("is not" in text or "not in" in text for text in texts)
    # Each prediction is behind its own conditions, in all of them.
    for city in (*CITIES, None):
        for own in (True, False):
            row = pd.DataFrame({"city": [city], "own": [own]})
            (expected,) = model.predict(row)
            assert read_text(lines, {"city": city, "own": own}).startswith(f"{expected} (")


def read_text(lines, row):
    """The leaf that a reader of nested conditions finds for a row."""
    if not lines[0].startswith("if "):
        return lines[0]
    middle = lines.index("else:")
    is_met = reads(lines[0].removeprefix("if ").rstrip(":"), row)
    below = lines[1:middle] if is_met else lines[middle + 1:]
    return read_text([line.removeprefix("    ") for line in below], row)


def test_sums_name_categories_and_gaps():
    frame = pd.DataFrame({"city": CITIES * 10, "age": [np.nan, 1.0, 2.0] * 10})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, frame["age"].isna())
    model.tree_ = Tree([[1, 2, 0, 0, -4.0]], [1.5], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    assert rules_text(model).startswith(
        "if - 4 * (city = Rome) + 2 * (age is missing) + 1 * age <= 1.5:")
    with pytest.raises(ValueError, match="feature_names must be a sequence of 2 names"):
        rules_text(model, feature_names=list("abcde"))
    frame["color"] = ["red"] * 15 + ["blue"] * 15
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame[["city", "color"]], frame.index % 2)
    model.tree_ = Tree([[0, 0, 3, 2.0]], [2.5], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    assert rules_text(model).startswith("if 3 * (city = Rome) + 2 * (color = red) <= 2.5:")


def test_codes_are_written_as_numbers():
    X = np.column_stack([np.arange(60) % 3, np.arange(60.0)])
    model = ObliqueTreeClassifier(1, optimizer=None, categorical_features=[0]).fit(X, X[:, 0] == 2)
    assert rules_text(model).startswith("if x0 is 2:")


def test_linear_leaves_name_categories_and_gaps():
    frame = pd.DataFrame({"city": CITIES * 10, "age": [np.nan, 40.0, 60.0] * 10})
    model = ObliqueTreeRegressor(0, optimizer=None).fit(frame, frame["age"].fillna(0.0))
    model.tree_ = Tree(
        np.empty((0, 5)), [], [], [], [[1.0]], slopes=[[[1.0, 2.0, 0.0, 0.0, -4.0]]])
    (rule,) = export_rules(model, X=frame)
    assert rule.prediction == "51 + 1 * (age - 50) - 4 * (city = Rome) + 2 * (age is missing)"
    # In a table, the features of a column are together.
    assert rules_text(model, X=frame).splitlines() == [
        "prediction:", "    51", "    +1  * (age - 50)", "    +2  * (age is missing)",
        "    -4  * (city = Rome)", "# in sums, a missing number counts as its mean: age 50"]


def trained_with_linear_leaves(frame, y):
    return ObliqueTreeRegressor(3, init="model_tree", optimizer=None, leaf="linear").fit(frame, y)


@pytest.mark.parametrize("seed", [0, *in_nightly([1, 2, 3])])
def test_linear_leaves_have_no_terms_that_the_path_decides(seed):
    random, n = np.random.default_rng(seed), 300
    frame = pd.DataFrame({
        "city": random.choice([*CITIES, None], n), "age": random.integers(20, 70, n).astype(float),
        "own": random.random(n) < 0.5})
    frame.loc[random.random(n) < 0.2, "age"] = np.nan
    y = np.where(frame["city"] == "Rome", 9.0, 0.1 * frame["age"].fillna(90)) * (
        1 + 2 * frame["own"]) - 9.0 * frame["city"].isna() + random.normal(size=n)
    model = trained_with_linear_leaves(frame, y)
    captions = captions_of(model)
    folded = without_constants(captions)
    X = model.encode(frame)
    np.testing.assert_allclose(folded.tree.predict(X), captions.tree.predict(X), rtol=1e-9)
    leaves = model.apply(frame)
    dropped = captions.tree.slopes.any(axis=1) & ~folded.tree.slopes.any(axis=1)
    assert dropped.any()
    for leaf, feature in np.argwhere(dropped):
        assert len(np.unique(X[leaves == leaf, feature])) <= 1
    for leaf, rule in zip(range(model.get_n_leaves()), export_rules(model), strict=True):
        assert rule.leaf == leaf
        for city in CITIES:
            said = {f"city is {city}", f"city is any other than {city}"} & set(rule.conditions)
            assert not said or f"city = {city}" not in rule.prediction


def test_terms_that_may_still_vary_are_kept():
    frame = pd.DataFrame({"city": CITIES * 10, "age": np.arange(30.0)})
    model = ObliqueTreeRegressor(1, optimizer=None).fit(frame, np.arange(30.0))
    slopes = [[[0.0, 1.0, 2.0, 4.0]], [[1.0, 1.0, 2.0, 4.0]]]
    # Lima or Oslo go left, as do unknown cities; Rome goes right.
    model.tree_ = Tree([[0, 0, 0, 1]], [0.5], [~0], [~1], [[1.0], [1.0]], slopes=slopes)
    assert rules_text(model).splitlines()[1::2] == [
        "    5 + 1 * age", "    1 + 2 * (city = Oslo) + 1 * (city = Lima)"]
    # A sum with a number decides nothing.
    model.tree_ = Tree([[1, 0, 0, 1]], [0.5], [~0], [~1], [[1.0], [1.0]], slopes=slopes)
    assert rules_text(model).count("4 * (city = Rome)") == 2


def test_sums_say_what_stands_for_categories_that_count_as_unknown():
    """Missing ones that tell nothing of y, and rare ones, are the means of all features."""
    random, n = np.random.default_rng(0), 200
    city = random.choice([*CITIES, None], n)
    city[:3] = "Ulm"
    frame = pd.DataFrame({"city": city, "sex": random.choice(["f", "m"], n)})
    y = 2.0 * (frame["city"] == "Rome") + (frame["sex"] == "m") + 0.6 * frame["city"].isna()
    model = ObliqueTreeRegressor(0, leaf="linear", optimizer=None).fit(frame, y)
    (categories, _) = model._table.categories
    assert categories.few == ("Ulm", None)
    *lines, note = rules_text(model).splitlines()
    head, means = note.split(" counts in sums as: ")
    assert head == "# a missing or rare category without a term"
    means = dict(part.rsplit(" ", 1) for part in means.split(", "))
    assert [*means] == [f"city = {city}" for city in CITIES]        # no sex is missing
    factors = [line.split(" * ") for line in lines if " * " in line]
    found = float(lines[1]) + sum(
        float(slope.replace(" ", "")) * float(means[name.strip("()")])
        for slope, name in factors if name.startswith("(city"))
    (expected,) = np.unique(model.predict(frame[frame["city"].isna() & (frame["sex"] == "f")]))
    assert found == pytest.approx(expected, abs=0.01)
    assert f"{note[2].upper()}{note[3:]}." in html.unescape(export_html(model))


@pytest.mark.parametrize("n_terms", [1, 2, None])
def test_notes_leave_out_features_of_hidden_terms(n_terms):
    """Of many categories, they would be longer than the tree, and of no use without the terms."""
    frame = pd.DataFrame({"city": [*CITIES * 10, "Ulm"], "age": [*range(30), None]})
    model = ObliqueTreeRegressor(1, optimizer=None).fit(frame, np.arange(31.0))
    note = "missing or rare category without a term counts in sums as: "
    shown = [f"city = {city} 0.333333" for city in ("Lima", "Rome", "Oslo")]
    weights, ages = [0.0, 3.0, 1.0, 2.0], [1.0, 0.0, 0.0, 0.0]
    for split, slopes in ((weights, None), (ages, [[weights], [[0.0] * 4]])):
        model.tree_ = Tree([split], [0.5], [~0], [~1], [[1.0], [2.0]], slopes=slopes)
        for text in (rules_text(model, n_terms=n_terms), export_html(model, n_terms=n_terms)):
            means = html.unescape(text).split(note)[1].split(".\n")[0].split(", ")
            assert sorted(means) == sorted(shown[:n_terms])


def test_rare_categories_keep_terms_that_they_alone_leave_open():
    frame = pd.DataFrame({"city": [*CITIES * 10, "Ulm"], "age": np.arange(31.0)})
    model = ObliqueTreeRegressor(1, optimizer=None).fit(frame, np.arange(31.0))
    slopes = [[[0.0, 4.0, 0.0, 2.0]]] * 2
    # Ulm, a bit of each city, goes left with Lima.
    model.tree_ = Tree([[0, 0, 1, 1]], [0.7], [~0], [~1], [[1.0], [1.0]], slopes=slopes)
    folded = without_constants(captions_of(model))
    np.testing.assert_allclose(folded.tree.predict(model.encode(frame))[:, 0], model.predict(frame))
    assert rules_text(model).splitlines()[1:4:2] == [
        "    1 + 2 * (city = Rome)", "    1 + 4 * (city = Lima) + 2 * (city = Rome)"]


def reads(condition, row):
    """Return whether a row meets a condition on one column, as a reader takes it."""
    words = condition.split()
    value, relation = row[words[0]], words[1]
    if relation == "is":
        is_same = str("missing" if value is None else value) == words[-1]
        return not is_same if "than" in words else is_same
    if value is None:
        return condition.endswith("(or missing)")
    return {"<=": value <= float(words[2]), ">=": value >= float(words[2]),
            "<": value < float(words[2]), ">": value > float(words[2])}[relation]


@given(st.integers(0, 2**20), st.booleans(), st.booleans())
def test_conditions_on_one_column_say_where_missing_values_go(seed, with_gaps, of_bools):
    random = np.random.default_rng(seed)
    values = random.random(40) < 0.5 if of_bools else random.integers(0, 6, 40)
    is_gap = (random.random(40) < 0.3) & with_gaps
    is_gap[:2], values[:2] = False, [0, 1]      # no column is constant
    frame = pd.DataFrame({"a": pd.array(
        np.where(is_gap, None, values), dtype="boolean" if of_bools else "Float64")})
    y = random.integers(0, 2, 40)
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, y)
    n = model.tree_.n_features
    weights = random.choice([-2.0, -1.0, 0.5, 1.0, 3.0], (1, n))
    if n > 1:
        weights[0, random.integers(3) == np.arange(n)] = 0.0
    low, high = sorted(weights[0, 0] * np.array([0.0, 1.0 if of_bools else 5.0]))
    model.tree_ = Tree(weights, [random.uniform(low, high)], [~0], [~1], np.eye(2))
    rows = [{"a": None if gap else value.item()}
            for gap, value in zip(is_gap, values, strict=True)]
    assume(0 < model.apply(frame).sum() < 40)
    for X in (None, frame):
        first, second = export_rules(model, X=X)
        if " * " not in str(first) and "(a is" not in str(first):
            for leaf, row in zip(model.apply(frame), rows, strict=True):
                assert [reads(rule.conditions[0], row) for rule in (first, second)] == [
                    leaf == 0, leaf == 1]


def test_bools_are_written_as_bools():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"own": random.random(80) < 0.5, "x": random.normal(size=80)})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, frame["own"] & (frame["x"] > -1))
    assert rules_text(model).startswith("if own is False:\n")
    row = frame[frame["own"]][:1]
    explanation = str(model.explain(row)[0])
    before = bool(row["own"].iloc[0])
    assert ("if own is False:\n    no, own is True; otherwise the tree predicts False "
            in explanation)
    assert f"own {before} to {not before}: " in explanation
    frame["own"] = frame["own"].astype("boolean").mask(frame.index % 7 == 0)
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, frame["own"].fillna(False))
    assert rules_text(model).startswith("if own is True:\n")
    linear = ObliqueTreeRegressor(0, leaf="linear", optimizer=None).fit(
        frame, frame["own"].fillna(True) * 2.0 + frame["x"])
    assert " * own\n" in rules_text(linear)


def test_rules_need_a_number_if_one_of_their_conditions_does():
    income = np.array([10.0, 15, 30, 40, 70, 80] * 10 + [np.nan] * 12)
    frame = pd.DataFrame({"income": income})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, income > 50)
    # Missing ones go right at the root, and would go left below it.
    model.tree_ = Tree(
        [[1.0, 200.0], [1.0, -200.0]], [60.0, 20.0], [1, ~0], [~2, ~1],
        [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    first, second, third = map(str, export_rules(model))
    assert first.startswith("if income <= 20: ")
    assert second.startswith("if income <= 60 and income > 20: ")
    assert third.startswith("if income > 60 (or missing): ")
    assert "income ≤ 20 (or missing)" in export_html(model)
    own = np.array([True, False, None, False] * 10, dtype=object)
    bools = ObliqueTreeClassifier(1, optimizer=None).fit(
        pd.DataFrame({"own": own}), [each is True for each in own])
    bools.tree_ = Tree([[2.0, 3.0]], [1.0], [~0], [~1], np.eye(2))
    assert rules_text(bools).startswith("if own is False:\n")


@pytest.mark.parametrize(("codes", "shown"), [
    ([10115, 10117, 10119], ["10115", "10117", "10119"]),
    ([12345678.0, 12345679.0, 12345680.0], ["12345678", "12345679", "12345680"]),
    ([2**60, 2**60 + 1, 2**60 + 2], [str(2**60 + k) for k in range(3)]),
    ([0.3331, 0.3332, 0.3333], ["0.3331", "0.3332", "0.3333"])])
def test_codes_have_all_their_digits(codes, shown):
    values = np.array(codes)[np.arange(60) % 3]
    table = pd.DataFrame({"zip": pd.Categorical(values)})
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(table, values == codes[1])
    assert tree.encoded_feature_names_ == [f"zip = {text}" for text in shown]
    assert rules_text(tree).startswith(f"if zip is {shown[1]}:")
    assert f"no, zip = {shown[2]}; otherwise the tree predicts True" in str(
        tree.explain(table[2:3])[0])
