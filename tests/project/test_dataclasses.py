"""Classes that hold arrays are equal if they are the same object: arrays have no single truth."""

import ast
import copy
from pathlib import Path

import pytest

import ngdt
from helpers import statements
from ngdt import ObliqueTreeRegressor

PACKAGE = Path(ngdt.__file__).parent


def dataclasses():
    """Decorator and annotations of each dataclass, by its name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for each in statements(path.read_text(encoding="utf-8")):
            if isinstance(each, ast.ClassDef):
                for text in map(ast.unparse, each.decorator_list):
                    if text.startswith("dataclass"):
                        yield each.name, text, [
                            ast.unparse(line.annotation) for line in each.body
                            if isinstance(line, ast.AnnAssign)]


def test_no_equality_is_generated_for_arrays():
    found = {name: text for name, text, types in dataclasses()
             if any("ndarray" in each for each in types)}
    assert len(found) > 30
    assert [name for name, text in found.items() if "eq=False" not in text] == []


@pytest.mark.parametrize("of", [
    lambda model: model._table, lambda model: model._sample_summary,
    lambda model: model._targets, lambda model: model.explain([[0.0, 1.0]])[0]],
    ids=["Table", "SampleSummary", "RegressionTargets", "TreeExplanation"])
def test_objects_with_arrays_can_be_compared_and_hashed(of):
    X = [[0.0, 1.0], [1.0, 0.0], [3.0, 3.0], [4.0, 0.0]]
    model = ObliqueTreeRegressor(1, optimizer=None).fit(X, [[0.0, 1.0], [1.0, 1.0]] * 2)
    one = of(model)
    other = copy.deepcopy(one)
    assert one == one
    assert one != other
    assert len({one, other}) == 2
