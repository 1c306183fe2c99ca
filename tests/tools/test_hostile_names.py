"""Names of columns and labels are text in every export, whatever they contain."""

import re
import sqlite3
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from helpers import rules_text
from ngdt import (
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    plotting,
)
from ngdt.export import (
    export_c,
    export_frame,
    export_graphviz,
    export_html,
    export_onnx,
    export_rules,
    export_sql,
)

NAMES = [
    "</script><script>evil()</script>", '"; DROP TABLE data; -- evil', "*/ evil(); /*",
    "line\nevil();", "'\\", '\\" evil [', "<b onclick='evil()'>&amp;", "??/", "${evil}`",
    "a b\u2028"]
PLAIN = [f"name {i}" for i in range(len(NAMES))]


def data(names):
    X = np.random.default_rng(0).normal(size=(120, len(names)))
    return pd.DataFrame(X, columns=names), np.array(names, dtype=object)[X[:, 3:].argmax(axis=1)]


@pytest.fixture(scope="module")
def models():
    """A model of hostile names, and the same one of plain names."""
    return [ObliqueTreeClassifier(3, optimizer="tao", random_state=0).fit(*data(names))
            for names in (NAMES, PLAIN)]


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, [name for name, _ in attrs]))


def test_html(models):
    hostile, plain = (Tags(export_html(model)).found for model in models)
    assert hostile == plain


def test_sql(models):
    X, _ = data(NAMES)
    with sqlite3.connect(":memory:") as connection:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in NAMES)
        connection.execute(f"CREATE TABLE data ({columns})")
        marks = ", ".join("?" * len(NAMES))
        connection.executemany(f"INSERT INTO data VALUES ({marks})", X.to_numpy().tolist())
        found = connection.execute(export_sql(models[0])).fetchall()
    connection.close()
    np.testing.assert_array_equal([row[-1] for row in found], models[0].predict(X))


STRING = r'"(?:\\.|[^"\\])*"'


@pytest.mark.parametrize(("export", "text"), [
    (export_c, rf"{STRING}|/\*.*?\*/|//[^\n]*"), (export_graphviz, STRING)])
def test_text_of_code_is_in_strings_and_comments(models, export, text):
    hostile, plain = (      # the order of the labels, and so of numbers, is another
        re.sub(r"-?\d[\d.e+-]*", "0", re.sub(text, "text", export(model), flags=re.DOTALL))
        for model in models)
    assert "evil" not in hostile
    assert hostile == plain


@pytest.mark.parametrize("plot", [
    plotting.plot_tree,
    lambda model: plotting.plot_explanation(model.explain(formulas()[0][:1])[0])])
def test_no_name_is_drawn_as_a_formula(plot):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    plot(ObliqueTreeClassifier(2, optimizer=None).fit(*formulas()))
    figure = pyplot.gcf()
    figure.canvas.draw()
    pyplot.close(figure)


def formulas():
    """Names that matplotlib would refuse as formulas."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    label = X[:, 0] + (X[:, 0] > 0) * X[:, 1] > 0
    return pd.DataFrame(X, columns=["$x_{$", "$y_{$"]), np.array(["$no_{$", "$yes_{$"])[label * 1]


@pytest.mark.parametrize("character", ["\0", "\ud800"], ids=ascii)
def test_characters_that_cannot_be_written(character):
    X = np.random.default_rng(0).normal(size=(60, 2))
    # As objects: strings of Arrow cannot hold them.
    city = np.where(X[:, 1] > 0, f"{character}Rome", f"{character}Oslo").astype(object)
    frame = pd.DataFrame({0: X[:, 0], 1: pd.Series(city, dtype=object)})
    frame.columns = pd.Index([f"a{character}", "city"], dtype=object)
    label = np.array([f"{character}no", "yes"])[(X[:, 0] + (X[:, 1] > 0) > 0.5) * 1]
    model = ObliqueTreeClassifier(2, optimizer=None).fit(frame, label)
    for export in (rules_text, export_graphviz, export_html, export_rules):
        found = export(model)
        text = found if isinstance(found, str) else "\n".join(map(str, found))
        assert character not in text
        assert "a\ufffd" in text
        assert "\ufffdno" in text
        assert re.search(r"(\ufffd|\\u0000)(Rome|Oslo)", text)
        text.encode()
    with pytest.raises(ValueError, match=rf"holds {re.escape(ascii(character))}, which SQL"):
        export_sql(model)
    model.fit(X, label)
    for language, export in {"C": export_c, "ONNX": export_onnx}.items():
        if language == "ONNX":
            pytest.importorskip("onnx")
        with pytest.raises(ValueError, match=rf"{re.escape(ascii(character))}, which {language}"):
            export(model)


def test_controls_are_written_as_escapes():
    """Else, a terminal would obey them, and a rule could be read from right to left."""
    controls = "\x1b\x9b\u2029\u202e"
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    random = np.random.default_rng(0)
    X = pd.DataFrame({
        f"a{controls}": random.normal(size=200),
        "city": np.array([f"Rome{controls}", "Oslo", "Bern"])[np.arange(200) % 3]})
    score = X.iloc[:, 0] + 2.0 * (X["city"] == f"Rome{controls}")
    labels = np.array(["no", f"yes{controls}"])[(score > 0.5) * 1]
    targets = pd.DataFrame({f"price{controls}": score, "cost": -score})
    models = [ObliqueTreeClassifier(2, optimizer=None).fit(X, labels),
              ObliqueTreeRegressor(1, optimizer=None).fit(X, targets),
              ObliqueForestClassifier(2, max_depth=2, optimizer=None).fit(X, labels)]
    for model in models:
        (explanation,) = model.explain(X[:1])
        texts = [repr(explanation), explanation.text()]
        plots = [partial(plotting.plot_explanation, explanation)]
        if not hasattr(model, "estimators_"):
            texts += [export(model) for export in (rules_text, export_graphviz, export_html)]
            texts += [*map(str, export_rules(model)), *export_frame(model)["rule"]]
            plots += [partial(plotting.plot_tree, model)]
        for plot in plots:
            plot()
            drawn = pyplot.gcf().findobj(pyplot.Text)
            pyplot.gcf().canvas.draw()      # would warn of a glyph that fonts lack
            texts.append("".join(text.get_text() for text in drawn))
            pyplot.close()
        assert not any(control in text for text in texts for control in controls)
        assert any(controls.encode("unicode_escape").decode() in text for text in texts)


def test_names_stay_in_their_line():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"": random.normal(size=200), "a\nb": random.normal(size=200)})
    frame["c\u2028d"] = random.choice(["Rome\nOslo", "Lima"], 200)
    y = np.where(frame["a\nb"] > 0, "yes\nor", "no")
    y[frame[""] > 1], y[frame["c\u2028d"] == "Lima"] = "maybe", "no"
    model = ObliqueTreeClassifier(3, optimizer=None).fit(frame, y)
    lines = rules_text(model).splitlines()
    assert all(re.match(r" *(if .*:|else:|.* \(\S+\))$", line) for line in lines)
    text = "\n".join(lines)
    for part in ("a\\nb <= ", '"" <= ', "c\\u2028d is ", "yes\\nor ("):
        assert part in text
    for rule in export_rules(model):
        assert len(str(rule).splitlines()) == 1
