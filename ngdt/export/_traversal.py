"""Depth-first traversal of trees, in the order in which nested text is written."""


def traverse(tree, max_depth=None, right_first=frozenset()):
    """Traverse a tree depth-first, left before right.

    Parameters
    ----------
    tree : Tree
    max_depth : int or None, default=None
        Levels of splits to traverse.
    right_first : collection of int, default=frozenset()
        Nodes whose right child comes before the left one.

    Yields
    ------
    type : {"split", "else", "end", "leaf", "cut"}
        A split comes before its first subtree, "else" between the two, and "end" after the second
        one. "cut" stands for a subtree that is left out.
    id : int
        Id of the node or the leaf.
    depth : int
        Number of splits above the node or leaf.
    """
    # An explicit stack: a chain may be deeper than Python's recursion limit.
    stack = [_item(0 if tree.n_internal else ~0, 0, max_depth)]
    while stack:
        type_, node, depth = stack.pop()
        yield type_, node, depth
        if type_ == "split":
            sides = tree.children_left, tree.children_right
            first, second = (
                _item(side[node], depth + 1, max_depth)
                for side in (reversed(sides) if node in right_first else sides))
            stack += [("end", node, depth), second, ("else", node, depth), first]


def _item(child, depth, max_depth):
    """Item of a node, or of the leaf ~child."""
    if child < 0:
        return "leaf", int(~child), depth
    return "cut" if depth == max_depth else "split", int(child), depth


def paths(tree):
    """Paths from the root to each leaf, from left to right.

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
    for type_, number, depth in traverse(tree):
        if type_ == "leaf":
            yield number, path[:depth]
        elif type_ != "end":
            path[depth:] = [(number, type_ == "split")]
