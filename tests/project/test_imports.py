"""Imports point one way: a folder imports only from itself and from those named before it."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ngdt
from helpers import statements

PACKAGE = Path(ngdt.__file__).parent
DIRECTION = [name for line in (
    "_util _core losses inference _encoding pruning _inspection plotting explanation",
    "_training _methods initializers optimizers _selection _estimators _forest deep path",
    "persistence export dask __init__ cli __main__ testing") for name in line.split()]


def place(module):
    """Place of the folder, or file, directly under the package that a module is in."""
    name = module.split(".")[0] or "__init__"
    if name not in DIRECTION:
        raise LookupError(f"ngdt/{name} has no place in DIRECTION in {Path(__file__).name}")
    return DIRECTION.index(name)


def modules():
    """Module name without the leading `ngdt.` -> its source files."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.p*")):
        if path.suffix in {".py", ".pyx", ".pxd"}:
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found.setdefault(".".join(parts), []).append(path)
    return found


@cache
def imported_names(path):
    """Absolute dotted names that a file imports, those of `from a import b` as a.b."""
    found = in_python if path.suffix == ".py" else in_cython
    names = set(found(path.read_text(encoding="utf-8")))
    assert not any(name.startswith(".") for name in names), f"{path}: relative import"
    return names


def in_python(text):
    for node in statements(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def in_cython(text):
    """The same for .pyx and .pxd, where `cimport` is another word for it."""
    text = re.sub(r"#.*", "", text).replace("\\\n", " ")
    # A list of names may be in parentheses, over several lines.
    from_import = r"^[ \t]*from[ \t]+([\w.]+)[ \t]+c?import\b[ \t]*(?:\(([^)]*)\)|([^(\n]+))"
    for module, several, one in re.findall(from_import, text, re.M):
        yield from (f"{module}.{name}" for name in first_words(several or one))
    for names in re.findall(r"^[ \t]*c?import[ \t]+([^\n]+)", text, re.M):
        yield from first_words(names)


def first_words(names):
    """First word of each item of a list, in front of `as`."""
    return [name.split()[0] for name in names.split(",") if name.strip()]


def import_graph():
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
        if place(target) > place(module))


def test_contributors_find_each_folder():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("| folder | contents |")[1].split("\n\n")[0]
    listed = re.findall(r"`(\w+)`", " ".join(
        line.split("|")[1] for line in table.splitlines() if line.startswith("|")))
    assert sorted(listed) == sorted(DIRECTION)


def test_imports_point_one_way():
    assert pointing_back(import_graph()) == []


def test_imports_have_no_cycle():
    TopologicalSorter(import_graph()).prepare()


def test_the_parser_sees_python_and_cython_imports():
    graph = import_graph()
    assert {"_core.tree", "_selection.train", "_training.result"} <= graph["_estimators.base"]
    assert "_core.samples" in graph["_core.flat_tree"]  # a cimport
    assert "_util.validation" in graph["_core.loss"]  # an import in a .pyx


@pytest.mark.parametrize("found", [in_python, in_cython])
@pytest.mark.parametrize(("text", "names"), [
    ("import ngdt.a", ["ngdt.a"]),
    ("import ngdt.a as b  # why", ["ngdt.a"]),
    ("import ngdt.a, ngdt.b", ["ngdt.a", "ngdt.b"]),
    ("from ngdt.a import b", ["ngdt.a.b"]),
    ("from ngdt.a import b as c, d", ["ngdt.a.b", "ngdt.a.d"]),
    ("from ngdt.a import (b, c)", ["ngdt.a.b", "ngdt.a.c"]),
    ("from ngdt.a import (  # why\n    b,\n    c as d,  # why\n)  # why", ["ngdt.a.b", "ngdt.a.c"]),
    ("from ngdt.a import b, \\\n    c", ["ngdt.a.b", "ngdt.a.c"]),
    ("if True:\n    from ngdt.a import b\n    import ngdt.c", ["ngdt.a.b", "ngdt.c"]),
    ("from . import a", ["..a"]),
    ("from .a import b", [".a.b"]),
    ("# import ngdt.a", []),
])
def test_every_form_of_import_is_seen(found, text, names):
    assert list(found(text)) == names
    if found is in_cython:
        assert list(found(text.replace("import", "cimport"))) == names


def test_every_cimport_of_the_package_is_seen():
    for paths in modules().values():
        for path in paths:
            text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
            packages = set(re.findall(r"cimport +(ngdt[\w.]*)|from +(ngdt[\w.]*) +cimport", text))
            expected = {"".join(pair) for pair in packages}
            seen = imported_names(path)
            assert all(any(name.startswith(module) for name in seen) for module in expected)


def test_an_import_that_points_back_is_found():
    assert pointing_back({"_core.tree": {"_core.samples", "_estimators.base"}}) == [
        "ngdt._core.tree imports ngdt._estimators.base"]
    assert pointing_back({"_core.scaling": {""}}) == ["ngdt._core.scaling imports ngdt."]
    with pytest.raises(LookupError, match="ngdt/unheard_of"):
        place("unheard_of.module")
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
