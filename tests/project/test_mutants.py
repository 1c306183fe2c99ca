"""Operators and constants that tools/mutate.py finds."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "text", "expected"), [
    ("a.pyx", "def f(double *x, int[::1] n=0):\n    '''a + 1'''\n    y = x[n[i] - 2]  # a * b\n",
     ["0 1", "- +", "2 3"]),
    ("a.pyx", "if not n % 2 and fmin(a, -b) <= 1.0:\n    self.n //= 2\n    a += 16 << k\n",
     ["not  ", "% +", "2 3", "and or", "fmin fmax", "<= <", "1.0 0.0", "2 3", "+= -=", "<< >>"]),
    ("a.pyx", "from a cimport b\ncdef class A(B):\n    n = <int32_t *> &values[1] if a != b\n",
     ["1 0", "!= =="]),
    ("a.pyx", "order = x.max(origin) and not notes\n", ["max min", "and or", "not  "]),
    ("a.c", "/* a + 1\n * 2 */\nfloat f(float *x) { return *x * 0.5f + 1.0f; } // 1\n",
     ["* /", "+ -", "1.0f 0.0f"]),
    ("a.h", "#if A == 1\n#define F(x)  \\\n    x + 1\n#endif\n", ["+ -", "1 0"]),
])
def test_operators_and_constants_are_found(monkeypatch, name, text, expected):
    monkeypatch.syspath_prepend(ROOT / "tools")
    pytest.importorskip("resource")
    import mutate
    found = list(mutate.mutants(name, text))
    assert [f"{each.old} {each.new}" for each in found] == expected
    lines = text.splitlines()
    assert all(lines[each.line - 1].startswith(each.old, each.column) for each in found)


@pytest.mark.parametrize(("name", "line", "expected"), [
    ("a.pyx", 5, 3), ("a.pyx", 7, 7), ("a.pyx", 1, 0), ("a.h", 5, 7), ("a.c", 7, 7), ("a.c", 9, 0)])
def test_a_macro_is_counted_below_it_and_a_statement_above(monkeypatch, name, line, expected):
    monkeypatch.syspath_prepend(ROOT / "tools")
    pytest.importorskip("resource")
    import mutate
    assert mutate.line_of(mutate.Mutant(name, line, 0, "0", "1"), [3, 7]) == expected
