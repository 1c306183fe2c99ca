"""Code that a reader may copy: the README, the pages and the scripts that they show.

Docstrings have a test of their own.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import re
import runpy
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

import ngdt
from helpers import in_nightly
from ngdt import _core

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").glob("*.rst")),
    *sorted((ROOT / "docs").glob("user_guide/*.rst")),
    *sorted((ROOT / "docs").glob("results/*.rst")),
    *sorted((ROOT / "docs").glob("theory/*.rst")),
    *sorted((ROOT / "docs").glob("extending/*.rst")),
]
FUZZING = ROOT / "docs/extending/fuzz_bounds.py"
MODULES = (
    "ngdt",
    "ngdt.dask",
    "ngdt.deep",
    "ngdt.explanation",
    "ngdt.export",
    "ngdt.inference",
    "ngdt.initializers",
    "ngdt.losses",
    "ngdt.optimizers",
    "ngdt.path",
    "ngdt.persistence",
    "ngdt.plotting",
    "ngdt.pruning",
    "ngdt.testing.strategies",
)


# Training differs between machines in the last bits. With this flag, which pytest has too, a number
# with a decimal point may differ by two units of its last digit.
NUMBER = doctest.register_optionflag("NUMBER")
DECIMAL = re.compile(r"\d+\.\d+")


def is_near(expected, found):
    """Return whether texts are the same but for small differences of their decimal numbers."""
    if DECIMAL.split(expected.rstrip()) != DECIMAL.split(found.rstrip()):
        return False
    numbers = zip(DECIMAL.findall(expected), DECIMAL.findall(found), strict=True)
    return all(abs(float(a) - float(b)) <= 2.001 * 10.0 ** -len(a.partition(".")[2])
               for a, b in numbers)


class Checker(doctest.OutputChecker):
    def check_output(self, want, got, optionflags):
        return super().check_output(want, got, optionflags) or bool(
            optionflags & NUMBER and is_near(want, got))


def test_the_tour_of_the_core_names_what_is_there():
    of_table, names = None, []
    for row in _core.__doc__.splitlines():
        file = of_table     # unless the row names another one
        for path, owner, name in re.findall(
                r"([\w/]+\.(?:pyx|pxd|py)\b)|([A-Z]\w+)\.(\w+)", row):
            file = path or file
            if name:
                names.append((file, owner, name))
        if row.split()[:1] in (["equations"], ["Algorithm"]):
            of_table = file
    assert len(names) > 15
    for file, owner, name in names:
        text = (ROOT / "ngdt/_core" / file).read_text(encoding="utf-8")
        (body,) = re.findall(rf"(?ms)^(?:cdef )?class {owner}\b.*?(?=^\S|\Z)", text)
        assert f" {name}(" in body, (file, owner, name)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
@pytest.mark.usefixtures("docs_packages")
def test_examples_in_pages(path, request):
    text = path.read_text(encoding="utf-8")
    if ">>> " not in text:
        pytest.skip("no examples on this page")
    if path.stem == "forests" and not in_nightly([True]):   # its default forest takes longest
        request.getfixturevalue("few_trial_trees")
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    output = io.StringIO()
    doctest.DocTestRunner(Checker(), verbose=False).run(test, out=output.write)
    assert output.getvalue() == ""


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs").glob("user_guide/*.rst")), ids=lambda path: path.stem)
def test_a_page_of_the_guide_is_read_in_some_minutes(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 250


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_numbers_of_equations_in_tables_are_no_lists(path):
    """A cell that begins with "(3)" is the third item of a list for docutils, and empty."""
    cells = re.findall(r"(?m)^ +(?:\* )?- (\(?\d+[.)])(?: .*)?$", path.read_text(encoding="utf-8"))
    assert cells == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_titles_and_lists_follow_a_blank_line(path):
    """Without one, docutils takes them for words of the paragraph above, and does not warn."""
    text = path.read_text(encoding="utf-8")
    titles = re.findall(r"(?m)^[^=\s].*\n\S.*\n(?:=+|-+)$", text)
    assert titles + re.findall(r"(?m)^\w.*\n(?:1\.|[-*]) .*$", text) == []


@pytest.mark.parametrize(("expected", "found", "expected_result"), [
    ("0.95\n", "0.9488888\n", True), ("0.95", "0.976", False), ("a (0.9)", "b (0.9)", False),
    ("0.95", "1", False), ("(0.36, 0.06)", "(0.3621, 0.0570)", True), ("3", "4", False)])
def test_numbers_are_compared(expected, found, expected_result):
    assert is_near(expected, found) is expected_result


def test_examples_in_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, output = (re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)
                    for kind in ("python", "text"))
    assert len(code) == 1
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code[0], {})
    assert is_near("".join(output), printed.getvalue())


def test_picture_of_the_readme_is_of_its_example():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    script = runpy.run_path(str(ROOT / "docs/figures/tree_or_forest.py"))
    X, y = script["table"]()
    tree, forest = script["fitted"](X, y)
    rules = re.findall(r"^# tree .*?(?=^```)", text, re.M | re.S)[0]
    assert is_near(rules, ngdt.export_text(tree))
    n_leaves = sum(each.get_n_leaves() for each in forest.estimators_)
    alt = re.findall(r'alt="([^"]*)"', text)[0]
    *numbers, of_forest = (int(number) for number in re.findall(r"\d+", alt))
    assert numbers == [
        tree.get_n_leaves(), round(100 * script["accuracy"](tree, X, y)), len(forest), n_leaves]
    # No change of ngdt moves that of scikit-learn's 20 forests of 100 trees.
    for model in in_nightly([forest]):
        assert of_forest == round(100 * script["accuracy"](model, X, y))


def methods_of_papers():
    """Arguments of the estimators in the tables of methods: of single trees, and of forests."""
    text = (ROOT / "docs/results/methods.rst").read_text(encoding="utf-8")
    _, trees, forests = text.split(".. list-table:: ")
    return [re.findall(r"     - ``(\w+=.*)``$", part, re.M) for part in (trees, forests)]


def made_as_on_the_page(estimator, arguments):
    names = vars(ngdt.initializers) | vars(ngdt.optimizers) | {
        "C": 1.0, "fitted_decision_tree": DecisionTreeClassifier()}
    return eval(f"estimator({arguments})", names | {"estimator": estimator})


@pytest.mark.parametrize("arguments", methods_of_papers()[0])
def test_methods_of_single_trees_on_the_page(arguments):
    made_as_on_the_page(ngdt.ObliqueTreeClassifier, arguments)._validate_params()


@pytest.mark.parametrize("arguments", methods_of_papers()[1])
def test_methods_of_forests_on_the_page(arguments):
    X, y = load_digits(n_class=3, return_X_y=True)
    # Images of 28 x 28 pixels, as those of MNIST.
    images = X[:90].reshape(-1, 8, 8).repeat(3, axis=1).repeat(3, axis=2)
    images = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    forest = made_as_on_the_page(ngdt.ObliqueForestClassifier, arguments)
    forest.set_params(n_estimators=3, random_state=0)
    assert forest.fit(images.reshape(90, -1), y[:90]).score(images.reshape(90, -1), y[:90]) > 0.9


@pytest.fixture(scope="module")
def fuzzing():
    return runpy.run_path(str(FUZZING))


@pytest.mark.parametrize(
    "name", re.findall(r"^def (test_\w+)", FUZZING.read_text(encoding="utf-8"), re.M)
)
def test_laws_on_the_page_about_fuzzing(name, fuzzing):
    fuzzing[name]()


def load(name):
    if name == "ngdt.dask":
        pytest.importorskip("dask")
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_public_functions_have_examples(name):
    module = load(name)
    functions = [getattr(module, name) for name in module.__all__]
    functions = [thing for thing in functions if inspect.isroutine(thing)]
    assert [f.__name__ for f in functions if ">>> " not in (f.__doc__ or "")] == []


@pytest.mark.parametrize("name", MODULES)
def test_public_names_have_a_page_or_a_line_in_the_reference(name):
    reference = (ROOT / "docs/api/index.rst").read_text(encoding="utf-8")
    module = load(name)
    names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    listed = re.findall(r"^(?:   |.. data:: )(\w+)$", reference, re.M)
    assert sorted(set(names) - set(listed)) == []


@pytest.mark.parametrize("name", [
    "ObliqueTreeClassifier", "ObliqueTreeRegressor", "ObliqueForestClassifier",
    "ObliqueForestRegressor", "ObliqueBoostingRegressor", "TAOPathCV"])
def test_notebooks_link_to_the_reference(name):
    link = f"https://ngdt.readthedocs.io/en/latest/api/generated/ngdt.{name}.html"
    assert f'href="{link}"' in getattr(ngdt, name)()._repr_html_()
    reference = (ROOT / "docs/api/index.rst").read_text(encoding="utf-8")
    # The template is of pages of the module that was named last.
    *_, module = re.findall("currentmodule:: (.*)", reference.split(f"   {name}\n")[0])
    assert module == "ngdt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert link.startswith(project["urls"]["Documentation"])
