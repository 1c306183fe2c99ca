"""The kinds of trees of which forests are made by default."""

from dataclasses import dataclass

import numpy as np

from ngdt.initializers import InfoGain, Initializer, RandomComplete, RandomOblique
from ngdt.optimizers import SSGD, TAO, Annealed

# Largest number of features for soft training, as for single trees.
MAX_SOFT_FEATURES = 4096
# Share of the columns for softly trained trees, which differ little on the same ones.
SOFT_SHARE = 0.6
# Largest depth of the initial trees of TAO, as for single trees.
MAX_TAO_DEPTH = 8
# Number of features of a random split, and least number of random splits that are tried.
N_NONZERO, MIN_CANDIDATES = 3, 5


@dataclass(frozen=True, eq=False)
class Kind:
    """A way to make the trees of a forest.

    Attributes
    ----------
    name : str
    init : Initializer
    optimizers : tuple of Optimizer
    max_features : float or None
        Share of the columns that each tree is trained on.
    max_depth : int or None
        Largest depth of the initial tree, besides that of the forest.
    """

    name: str
    init: Initializer
    optimizers: tuple = ()
    max_features: float | None = None
    max_depth: int | None = None


def default_kinds(problem, leaf, linear_leaves):
    """The kinds that compete by default.

    Parameters
    ----------
    problem : Problem
    leaf : {"auto", "constant", "linear"}
    linear_leaves : LinearLeaves or None

    Returns
    -------
    list of Kind
        The first is the one to take if none can be compared.
    """
    p, is_classifier = problem.X.shape[1], problem.loss.is_classifier
    finish = (linear_leaves,) if leaf == "linear" else ()
    # As many splits as random forests try at a node, each on one feature.
    random = RandomOblique(max(1, round(np.sqrt(p) if is_classifier else p / 3)), 1)
    oblique = RandomOblique(max(random.n_candidates, MIN_CANDIDATES), min(N_NONZERO, p))
    C = 1.0 if is_classifier else 10.0
    found = [
        Kind("tao", random, (TAO(C=C, max_passes=5), *finish), max_depth=MAX_TAO_DEPTH),
        Kind("random oblique", oblique, finish),
        Kind("random", random, finish),
    ]
    if p <= MAX_SOFT_FEATURES:
        leaf = "linear" if finish and not is_classifier else "constant"
        soft = (Annealed(leaf=leaf), *finish)
        found.insert(0, Kind("annealed", RandomComplete(), soft, SOFT_SHARE))
    else:
        found.insert(0, Kind("ssgd", InfoGain(), (SSGD(), *finish), SOFT_SHARE))
    return found
