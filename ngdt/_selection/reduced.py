"""Optimizers on wide data, in fewer coordinates."""

from dataclasses import replace


def optimize(optimizer, tree, problem):
    """`Optimizer.optimize`, in the space of fewer coordinates that suits the optimizer, if any.

    The result splits the features. A tree that does not fit into the space is trained on them.

    Parameters
    ----------
    optimizer : Optimizer
    tree : Tree
        That of an initializer. What a given tree has learned outside of the space would be lost.
    problem : Problem

    Returns
    -------
    OptimizerResult
    """
    space = optimizer.space(problem) if tree.slopes is None else None
    start = None if space is None else space.reduced(tree)
    if start is None:
        return optimizer.optimize(tree, problem)
    result = optimizer.optimize(start, space.of(problem, optimizer.scales_coordinates))
    return replace(result, tree=space.raw(result.tree))
