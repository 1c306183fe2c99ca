"""Bennett's objective as loops over points and leaves: the reference for global tree optimization.

``planes`` has a row per node, the threshold last; ``paths`` lists for each leaf the (node,
direction) pairs above it, direction +1 for right; ``leaf_class`` is the class of each leaf.
"""


def paths_of(tree):
    """The path to each leaf, found by walking down from the root."""
    found = {}

    def walk(child, path):
        if child < 0:
            found[~child] = path
            return
        walk(tree.children_left[child], [*path, (child, -1)])
        walk(tree.children_right[child], [*path, (child, +1)])

    walk(0 if tree.n_internal else ~0, [])
    return [found[leaf] for leaf in range(tree.n_leaves)]


def leaf_error(x, planes, path):
    total = 0.0
    for node, direction in path:
        score = planes[node, :-1] @ x - planes[node, -1]
        total += max(0.0, 1.0 - direction * score)
    return total


def objective(X, label, weight, planes, paths, leaf_class):
    total = 0.0
    for c in set(label.tolist()):
        rows = [i for i in range(len(X)) if label[i] == c]
        mass = sum(weight[i] for i in rows)
        for i in rows:
            product = 1.0
            for path, of_class in zip(paths, leaf_class, strict=True):
                if of_class == c:
                    product *= leaf_error(X[i], planes, path)
            total += weight[i] / mass * product
    return total


def strictly_classified(X, label, planes, paths, leaf_class):
    """Return whether each point reaches a leaf of its class, with margins of at least 1."""
    return all(
        any(
            of_class == c and all(
                direction * (planes[node, :-1] @ x - planes[node, -1]) >= 1.0
                for node, direction in path)
            for path, of_class in zip(paths, leaf_class, strict=True))
        for x, c in zip(X, label, strict=True))


def plane_cost(X, left, right, plane):
    """Price of the hinge errors of one plane."""
    total = 0.0
    for x, to_left, to_right in zip(X, left, right, strict=True):
        score = plane[:-1] @ x - plane[-1]
        total += to_left * max(0.0, 1.0 + score) + to_right * max(0.0, 1.0 - score)
    return total


def numeric_derivative(function, array, index, step=1e-6):
    """Central difference of a function of an array by one of its entries."""
    up, down = array.copy(), array.copy()
    up[index] += step
    down[index] -= step
    return (function(up) - function(down)) / (2 * step)
