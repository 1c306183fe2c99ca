"""Positions of the nodes of a tree in a plot."""

from ngdt._core.structure import traverse


def children(tree, node, right_first=frozenset()):
    """Children of a node, from left to right in the plot.

    Parameters
    ----------
    tree : Tree
    node : int
    right_first : collection of int, default=frozenset()
        Nodes whose right child is drawn on the left.

    Returns
    -------
    tuple of (int, int)
        Ids as in the tree: >= 0 for an internal node, ~leaf for a leaf.
    """
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    return (right, left) if node in right_first else (left, right)


def depths(tree, max_depth):
    """Depths of the nodes and leaves down to a depth, by id as in the tree, parents first."""
    return {
        ~item if type_ == "leaf" else item: depth
        for type_, item, depth in traverse(tree, max_depth) if type_ in ("split", "cut", "leaf")}


def centers(tree, depth, width, gap, right_first):
    """Horizontal positions of nodes: as near to each other as their widths allow.

    A node is above the middle of its two children, and subtrees do not overlap.

    Parameters
    ----------
    tree : Tree
    depth : dict of {int: int}
        As `depths` returns them.
    width : dict of {int: float}
        Width of each node.
    gap : float
        Least distance between neighbours.
    right_first : collection of int
        As for `children`.

    Returns
    -------
    dict of {int: float}
        The leftmost box begins at 0.
    """
    apart, outline = {}, {}
    for item in reversed(depth):
        half, below = width[item] / 2, []
        if item >= 0 and children(tree, item)[0] in depth:
            left, right = (
                outline.pop(child) for child in children(tree, item, right_first))
            apart[item] = gap + max(
                end - begin for (_, end), (begin, _) in zip(left, right, strict=False))
            below = _joined(left, right, apart[item] / 2)
        outline[item] = [(-half, half), *below]
    (root,) = outline
    center = {root: -min(begin for begin, _ in outline[root])}
    for item in depth:
        if item in apart:
            left, right = children(tree, item, right_first)
            center[left], center[right] = (
                center[item] + side * apart[item] / 2 for side in (-1, 1))
    return center


def _joined(left, right, half):
    """Left and right ends, by level, of two subtrees that are moved apart."""
    ends = []
    for level in range(max(len(left), len(right))):
        parts = [(begin + shift, end + shift) for outline, shift in ((left, -half), (right, half))
                 for begin, end in outline[level:level + 1]]
        ends.append((min(begin for begin, _ in parts), max(end for _, end in parts)))
    return ends
