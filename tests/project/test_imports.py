"""Imports point one way: a module imports from its own layer or from those above it in the list."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ngdt

PACKAGE = Path(ngdt.__file__).parent

# First match wins. A module that no pattern matches has no layer assigned.
LAYERS = [
    ("arithmetic and checks", r"_parallel|_parameters|_samples|_validation|_version"),
    ("values in files", r"_files(\..*)?"),
    ("data",
     r"_tree|_tree_storage|_tree_arrays|_tree_json|_flat_tree|_from_sklearn|_structure|_quantiles|_loss"
     r"|_[a-z]+_loss(es)?|losses|_scaling|_wide"),
    ("functions",
     r"_table(\..*)?|_inference|inference|_impurity|_importances|pruning(\..*)?|_greedy(\..*)?"
     r"|_labels|_leaf_text|_node_values|_numbers|_rules|_sample_summary|_steps|_units"),
    ("plots", r"plotting(\..*)?"),
    ("explanations", r"explanation(\..*)?"),
    ("contract", r"problem|_activity|_algorithm|_checkpoint|_deadline|_limits|_folds"),
    ("algorithms", r"(initializers|optimizers)(\..*)?"),
    ("composition", r"_selection(\..*)?"),
    ("estimators", r"estimators(\..*)?|_resolve|_targets"),
    ("forests", r"forest(\..*)?"),
    ("deep trees", r"deep(\..*)?"),
    ("paths", r"path(\..*)?"),
    ("files", r"persistence(\..*)?"),
    ("exports", r"export(\..*)?"),
    ("partitions", r"dask(\..*)?"),
    ("public names", r""),
    ("not imported by others", r"__main__|cli(\..*)?|testing(\..*)?"),
]


def layer(module):
    for number, (_, pattern) in enumerate(LAYERS):
        if re.fullmatch(pattern, module):
            return number
    raise LookupError(f"ngdt.{module} has no layer assigned in {Path(__file__).name}")


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
    found = in_python if path.suffix == ".py" else in_cython
    for name in found(path.read_text(encoding="utf-8")):
        assert not name.startswith("."), f"{path}: relative import"
        yield name


def in_python(text):
    for node in ast.walk(ast.parse(text)):
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
    """What is in front of `as` in each part of a list."""
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
        if layer(target) > layer(module))


def test_contributors_find_the_layer_of_each_module():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("| layer | modules | contents |")[1].split("\n\n")[0]
    listed = re.findall("`(\\w+)/?`", " ".join(
        line.split("|")[2] for line in table.splitlines() if line.startswith("|")))
    found = {name.split(".")[0] or "__init__" for name in modules()} | {"src"}
    assert sorted(listed) == sorted(found)


def test_imports_point_one_way():
    assert pointing_back(import_graph()) == []


def test_imports_have_no_cycle():
    TopologicalSorter(import_graph()).prepare()


def test_the_parser_sees_python_and_cython_imports():
    graph = import_graph()
    assert {"_tree", "_selection", "optimizers"} <= graph["estimators._base"]
    assert "_samples" in graph["_flat_tree"]  # a cimport
    assert "_validation" in graph["_loss"]  # an import in a .pyx


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
            seen = set(imported_names(path))
            assert all(any(name.startswith(module) for name in seen) for module in expected)


def test_an_import_that_points_back_is_found():
    assert pointing_back({"_tree": {"_samples", "estimators"}}) == [
        "ngdt._tree imports ngdt.estimators"]
    assert pointing_back({"_scaling": {""}}) == ["ngdt._scaling imports ngdt."]
    with pytest.raises(LookupError, match=r"ngdt\.unheard_of"):
        layer("unheard_of")
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
