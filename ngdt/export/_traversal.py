"""The order in which nested text is written: a split, its left subtree, and its right one."""

from typing import NamedTuple


class Step(NamedTuple):
    """A step of the walk through a tree.

    Attributes
    ----------
    kind : {"split", "else", "end", "leaf", "cut"}
        A split comes before its left subtree, "else" between the two, and "end" after the right
        one. "cut" stands for a subtree that is left out.
    id : int
        Of the node or the leaf.
    depth : int
        Number of splits above it.
    """

    kind: str
    id: int
    depth: int


def walk(tree, max_depth=None):
    """Walk through a tree.

    Parameters
    ----------
    tree : Tree
    max_depth : int or None, default=None
        Levels of splits to visit.

    Yields
    ------
    Step
    """
    # An explicit stack: a chain may be deeper than Python's recursion limit.
    stack = [_step(0 if tree.n_internal else ~0, 0, max_depth)]
    while stack:
        step = stack.pop()
        yield step
        kind, node, depth = step
        if kind == "split":
            left, right = (
                _step(child[node], depth + 1, max_depth)
                for child in (tree.children_left, tree.children_right))
            stack += [Step("end", node, depth), right, Step("else", node, depth), left]


def _step(item, depth, max_depth):
    """The step to a node, or to the leaf ~item."""
    if item < 0:
        return Step("leaf", int(~item), depth)
    return Step("cut" if depth == max_depth else "split", int(item), depth)


def paths(tree):
    """The splits above each leaf, from left to right.

    Parameters
    ----------
    tree : Tree

    Yields
    ------
    leaf : int
    path : list of tuple (node, left)
        From the root down: the node, and whether the leaf is on its left.
    """
    path = []
    for kind, item, depth in walk(tree):
        if kind == "leaf":
            yield item, path[:depth]
        elif kind != "end":
            path[depth:] = [(item, kind == "split")]
