"""Imports point one way: a module imports from its own layer or the ones above, never in a ring."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ngdt

PACKAGE = Path(ngdt.__file__).parent

# First match wins. A module that no pattern matches has no place in the house yet.
LAYERS = [
    ("arithmetic and checks", r"_samples|_validation"),
    ("data", r"_tree|_loss|losses|problem|_scaling"),
    ("functions", r"_inference|inference|_importances|pruning|_greedy(\..*)?"),
    ("algorithms", r"(initializers|optimizers)(\..*)?"),
    ("composition", r"_selection"),
    ("estimators", r"estimators"),
    ("pictures", r"plotting|export"),
    ("paths", r"path"),
    ("public names", r""),
    ("leaves", r"__main__|testing(\..*)?"),
]


def layer(module):
    for number, (_, pattern) in enumerate(LAYERS):
        if re.fullmatch(pattern, module):
            return number
    raise LookupError(f"give ngdt.{module} a layer in {Path(__file__).name}")


def modules():
    """Module name without the leading `ngdt.` -> its source files."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.p*")):
        if path.suffix in {".py", ".pyx", ".pxd"}:
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found.setdefault(".".join(parts), []).append(path)
    return found


def imported_names(path):
    """Absolute dotted names that a file imports, those of `from a import b` as a.b."""
    text = path.read_text()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
        return
    # Cython: a list of names may be in parentheses, over several lines.
    statement = r"^\s*from\s+([\w.]+)\s+c?import\s+(?:\(([^)]*)\)|(.+))$"
    for source, several, one in re.findall(statement, text, re.M):
        names = re.sub(r"#.*", "", several or one).split(",")
        yield from (f"{source}.{name.split()[0]}" for name in names if name.strip())
    yield from re.findall(r"^\s*c?import\s+([\w.]+)", text, re.M)


def arrows():
    """Module -> the modules of this package that it imports."""
    known = modules()
    graph = {}
    for module, paths in known.items():
        graph[module] = targets = set()
        for name in (name for path in paths for name in imported_names(path)):
            package, *parts = name.split(".")
            if package == "ngdt":
                whole = ".".join(parts)
                targets.add(whole if whole in known else ".".join(parts[:-1]))
        targets.discard(module)  # a .pyx cimports from its own .pxd
    return graph


def pointing_back(graph):
    return sorted(
        f"ngdt.{module} imports ngdt.{target}"
        for module, targets in graph.items() for target in targets
        if layer(target) > layer(module))


def test_imports_point_one_way():
    assert pointing_back(arrows()) == []


def test_imports_form_no_ring():
    TopologicalSorter(arrows()).prepare()


def test_the_parser_sees_python_and_cython_imports():
    graph = arrows()
    assert {"_tree", "_selection", "initializers", "optimizers"} <= graph["estimators"]
    assert "_samples" in graph["_tree"]  # a cimport
    assert "_validation" in graph["_tree"]  # an import in a .pyx


def test_an_arrow_that_points_back_is_found():
    assert pointing_back({"_tree": {"_samples", "estimators"}}) == [
        "ngdt._tree imports ngdt.estimators"]
    assert pointing_back({"_scaling": {""}}) == ["ngdt._scaling imports ngdt."]
    with pytest.raises(LookupError, match=r"ngdt\.unheard_of"):
        layer("unheard_of")
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
