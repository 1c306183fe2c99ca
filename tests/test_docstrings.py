"""The examples in the docstrings run, and every parameter is described."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import ngdt

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(ngdt.__path__, "ngdt.")
    if not module.name.endswith("__main__"))
ESTIMATORS = [ngdt.ObliqueTreeClassifier, ngdt.ObliqueTreeRegressor]


def examples(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] == "ngdt":
            raise
        pytest.skip(f"needs {error.name}, which is optional")
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


@pytest.mark.parametrize("name", ["ngdt", *MODULES])
def test_examples_run(name):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples(name):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", ["ngdt._tree", "ngdt._loss", "ngdt.tree"])
def test_examples_are_found_in_python_and_in_compiled_modules(name):
    assert examples(name)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_describe_their_parameters_and_attributes(estimator):
    described = set(re.findall(r"^(\w+) : ", inspect.getdoc(estimator), re.M))
    fitted = estimator(1, optimizer=None).fit([[0.0], [1.0]], [0, 1])
    learnt = {name for name in vars(fitted) if name.endswith("_")}
    assert described == learnt | set(inspect.signature(estimator).parameters) | {
        "feature_names_in_"}


@pytest.mark.parametrize("name", ngdt.__all__)
def test_public_names_exist_and_are_documented(name):
    thing = getattr(ngdt, name)
    assert inspect.getdoc(thing)
    if inspect.ismodule(thing):
        assert importlib.import_module(f"ngdt.{name}") is thing
