"""Limits of the lengths of functions and files."""

import ast
import re
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest

from helpers import statements

ROOT = Path(__file__).parents[2]
# Lines of code: without docstrings, comments and blank lines.
MAX_OF_FUNCTION, MAX_OF_FILE = 60, 350

FOLDERS = ("ngdt", "benchmarks", "examples")
FILES = [ROOT / "setup.py", *sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".pyx", ".pxd", ".pyi", ".h")
    or (path.suffix == ".c" and path.parent.name == "src"))]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def is_code(line):
    return line.strip() != "" and not line.lstrip().startswith("#")


def functions_of_python(text):
    """(name, lines of code) of all functions, those within others too."""
    n_before = [0, *accumulate(map(is_code, text.splitlines()))]    # lines of code above a line
    for node in statements(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [node, node.body[0]] if ast.get_docstring(node) is not None else [node]
            whole, *docstring = (n_before[each.end_lineno] - n_before[each.lineno - 1]
                                 for each in parts)
            yield node.name, whole - sum(docstring)


def functions_of_cython(text):
    """The same for .pyx and .pxd, by indentation: Cython has no parser to import for this."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if not re.match(r"\s*(async +def|def|cpdef|cdef)\b", line):
            continue
        end, header = start + 1, code_of(line)
        while header.count("(") > header.count(")") and end < len(lines):
            header += " " + code_of(lines[end])
            end += 1
        name = re.search(r"(\w+)\s*(?:\[[^\]]*\])?\(.*:$", header.strip())
        if name is None or re.match(r"\s*cdef\s+(extern|class|struct|enum|union)\b", header):
            continue
        indent = len(line) - len(line.lstrip())
        yield name[1], end - start + sum(map(is_code, body_of(lines, end, indent)))


def code_of(line):
    return re.sub(r"#.*", "", line).rstrip()


def body_of(lines, start, indent):
    """Lines of a body, without the docstring."""
    text = "\n".join(lines[start:])
    docstring = re.match(r"\s*[rR]?(\"\"\"|''')(?:.|\n)*?\1[^\n]*\n?", text)
    for line in (text[docstring.end():] if docstring else text).splitlines():
        # A closing parenthesis or a comment may stand further to the left than the body.
        if is_code(line) and len(line) - len(line.lstrip()) <= indent and line.strip() not in ")]}":
            return
        yield line


@cache
def functions(path):
    text = path.read_text(encoding="utf-8")
    return list((functions_of_python if path.suffix == ".py" else functions_of_cython)(text))


def n_lines_of_code(path):
    text = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S)
    return sum(map(is_code, text.splitlines()))


def test_no_function_and_no_file_is_too_long():
    for path in FILES:
        assert n_lines_of_code(path) <= MAX_OF_FILE, path
        if path.suffix in (".py", ".pyx", ".pxd"):
            assert all(n <= MAX_OF_FUNCTION for _, n in functions(path)), path


def test_files_and_functions_are_found():
    names = {name_of(path) for path in FILES}
    assert {"setup.py", "ngdt/_core/tree.py", "ngdt/_core/search.pyx", "ngdt/_core/src/dot.c"
            } <= names
    for path in FILES:
        if path.suffix == ".pyx":
            assert functions(path), path


def test_both_ways_to_count_agree():
    # What is Python is Cython too.
    for path in FILES:
        if path.suffix == ".py":
            text = path.read_text(encoding="utf-8")
            assert sorted(functions_of_cython(text)) == sorted(functions(path)), path


@pytest.mark.parametrize(("text", "expected"), [
    ("cdef int f(int a) noexcept nogil:\n    return a\n\nx = 1\n", [("f", 2)]),
    ("cdef inline double f(const double[:, ::1] a,\n                     int b) nogil:\n"
     "    # why\n\n    cdef int i\n    return b\n", [("f", 4)]),
    ("cpdef f():\n    '''Doc.\n\n    More.\n    '''\n    pass\n", [("f", 2)]),
    ("cdef class A:\n    cdef int x\n    def f(self):\n        self.x = 1\n", [("f", 2)]),
    ("cdef int f(int a) noexcept\ncdef extern from 'x.h':\n    int g(int a)\n", []),
    ("cdef fused real:\n    float\n    double\n", []),
])
def test_functions_of_cython_are_counted(text, expected):
    assert list(functions_of_cython(text)) == expected
