"""The examples in the docstrings run, and every parameter is described."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import ngdt

MODULES = ["ngdt", *sorted(
    module.name for module in pkgutil.walk_packages(ngdt.__path__, "ngdt.")
    if not module.name.endswith("__main__"))]
# What a module needs beyond the requirements of the package.
OPTIONAL = {"dask": ["dask"], "plotting": ["matplotlib"], "testing": ["hypothesis"],
            "_onnx_graph": ["onnx"], "_torch": ["torch"]}
ESTIMATORS = [ngdt.ObliqueTreeClassifier, ngdt.ObliqueTreeRegressor]


def has_examples(name):
    """Return whether the source of a module has a prompt; to import all of them takes a second."""
    path = Path(ngdt.__file__).parents[1].joinpath(*name.split("."))
    sources = [path / "__init__.py", path.with_suffix(".py"), path.with_suffix(".pyx")]
    return any(">>> " in source.read_text(encoding="utf-8")
               for source in sources if source.exists())


def load(name):
    for part in name.split(".")[1:]:
        for needed in OPTIONAL.get(part, []):
            pytest.importorskip(needed)
    return importlib.import_module(name)


@pytest.mark.parametrize("name", [name for name in MODULES if has_examples(name)])
def test_examples_run(name):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    found = [test for test in doctest.DocTestFinder().find(load(name)) if test.examples]
    assert found
    for test in found:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_describe_their_parameters_and_attributes(estimator):
    described = set(re.findall(r"^(\w+) : ", inspect.getdoc(estimator), re.M))
    fitted = estimator(1, optimizer=None).fit([[0.0], [1.0]], [0, 1])
    learnt = {name for name in vars(fitted) if name.endswith("_")}
    assert described == learnt | set(inspect.signature(estimator).parameters) | {
        "encoded_monotonic_cst_", "feature_names_in_", "kind_", "n_node_samples_"}


@pytest.mark.parametrize("forest", [ngdt.ObliqueForestClassifier, ngdt.ObliqueForestRegressor])
def test_forests_describe_their_parameters_and_attributes(forest):
    text, _ = inspect.getdoc(forest).split("See Also")
    described = set(re.findall(r"^(\w+) : ", text, re.M))
    X, y = [[float(i)] for i in range(20)], [i % 2 for i in range(20)]
    fitted = forest(50, optimizer=None, oob_score=True).fit(X, y)
    learnt = {name for name in vars(fitted) if name.endswith("_")}
    assert described == learnt | set(inspect.signature(forest).parameters) | {
        "encoded_monotonic_cst_", "estimators_samples_", "feature_importances_",
        "feature_names_in_", "kind_", "pruning_path_"}


def test_boosting_describes_its_parameters_and_attributes():
    text, _ = inspect.getdoc(ngdt.ObliqueBoostingRegressor).split("See Also")
    described = set(re.findall(r"^(\w+) : ", text, re.M))
    forest = ngdt.ObliqueForestRegressor(4, optimizer=None)
    fitted = ngdt.ObliqueBoostingRegressor(forest).fit([[0.0], [1.0]], [0.0, 1.0])
    learnt = {name for name in vars(fitted) if name.endswith("_")}
    assert described == learnt | fitted.get_params(deep=False).keys() | {"feature_names_in_"}


@pytest.mark.parametrize("name", [name for name in MODULES if "._" not in name])
def test_defaults_in_docstrings_are_those_of_the_signature(name):
    module = load(name)
    for thing in map(vars(module).get, getattr(module, "__all__", ())):
        described = re.findall(r"^(\w+) : .*default=(\S+)$", inspect.getdoc(thing) or "", re.M)
        # Cython does not say what parameters the __init__ of a class has.
        if described and name != "ngdt.losses":
            given = inspect.signature(thing).parameters
            assert {key: given[key].default for key, _ in described} == {
                key: ast.literal_eval(value) for key, value in described}


@pytest.mark.parametrize("name", ngdt.__all__)
def test_public_names_exist_and_are_documented(name):
    thing = getattr(ngdt, name)
    assert inspect.getdoc(thing)
    if inspect.ismodule(thing):
        assert importlib.import_module(f"ngdt.{name}") is thing


# Bases to inherit from, and records that functions return: nothing that a user would call.
NO_EXAMPLE = {
    "Loss", "Initializer", "Optimizer", "InferenceResult", "LeafRule", "OptimizerResult",
    "Spread", "SurrogateGradient", "Dataset", "TreeProblem", "Change",
    "Decision", "Prediction", "WeightedSum"}


@pytest.mark.parametrize("name", [name for name in MODULES if "._" not in name])
def test_public_objects_have_an_example(name):
    module = load(name)
    public = set(getattr(module, "__all__", ())) - NO_EXAMPLE
    things = {thing: getattr(module, thing) for thing in public}
    assert [thing for thing, value in sorted(things.items())
            if callable(value) and "\n>>> " not in inspect.getdoc(value)] == []
