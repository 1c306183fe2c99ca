"""The exception that ends a training and keeps its tree."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C ended a training, and there is a tree.

    Parameters
    ----------
    tree : Tree
        The best tree so far. Of `ngdt._core.greedy.builder.build`, the `Growth`.
    history : dict of lists or None, default=None
        Metrics of the epochs until then. None stands for none.
    candidates : dict of lists or None, default=None
        The trees that were compared until then. None stands for none.
    baseline_kept : bool, default=False
        Whether the tree is the baseline.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.optimizers import Stopped
    >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    >>> try:
    ...     raise Stopped(tree)
    ... except KeyboardInterrupt as stopped:
    ...     stopped.tree is tree
    True
    """

    def __init__(self, tree, history=None, candidates=None, baseline_kept=False):
        super().__init__()
        self.tree, self.history, self.candidates = tree, history or {}, candidates or {}
        self.baseline_kept = baseline_kept


def finished(make, finish):
    """Change a tree that is made, also where Ctrl-C ends the making.

    Parameters
    ----------
    make : callable
        Returns a tree, or raises Stopped with one.
    finish : callable
        Takes this tree, and returns another one.

    Returns
    -------
    Tree
        The tree that `finish` returns. Stopped is raised again, with it.
    """
    try:
        tree = make()
    except Stopped as stopped:
        stopped.tree = finish(stopped.tree)
        raise
    return finish(tree)
