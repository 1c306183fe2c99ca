"""The kinds of trees of which forests are made by default."""

from ngdt.optimizers import SSGD, TAO, Annealed, ShrinkLeaves

# Number of samples from which regression trees are trained softly.
MANY_SAMPLES = 2000
# Largest number of features for soft training, as for single trees.
MAX_SOFT_FEATURES = 4096


def default_optimizers(problem, leaf, linear_leaves):
    """The optimizers of each tree by default.

    Parameters
    ----------
    problem : Problem
    leaf : {"auto", "constant", "linear"}
    linear_leaves : LinearLeaves or None

    Returns
    -------
    list of Optimizer
    """
    linear = [linear_leaves] if leaf == "linear" else []
    if problem.X.shape[1] > MAX_SOFT_FEATURES:
        return [SSGD(), *linear]
    if problem.loss.is_classifier:
        return [Annealed(), *linear]
    if linear:
        return [Annealed(leaf="linear"), *linear]
    if len(problem.training_samples) < MANY_SAMPLES:
        return [TAO(C=10.0, max_passes=5), ShrinkLeaves()]
    return [Annealed(), ShrinkLeaves()]
