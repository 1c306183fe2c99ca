"""The kinds of trees of which forests are made by default."""

from dataclasses import dataclass

import numpy as np

from ngdt._selection._candidates import MAX_SOFT_FEATURES
from ngdt._selection._race import MAX_TRAINED_DEPTH
from ngdt.initializers import InfoGain, Initializer, RandomComplete, RandomOblique
from ngdt.optimizers import SSGD, TAO, Annealed

# Number of features of a random split, and limits of the number of random splits that are tried.
N_NONZERO, MIN_CANDIDATES, MAX_CANDIDATES = 3, 5, 30


@dataclass(frozen=True, eq=False)
class Kind:
    """A way to make the trees of a forest.

    Attributes
    ----------
    name : str
    init : Initializer
    optimizers : tuple of Optimizer
    max_depth : int or None
        Largest depth of the initial tree, besides that of the forest.
    """

    name: str
    init: Initializer
    optimizers: tuple = ()
    max_depth: int | None = None


def default_kinds(problem, leaf, linear_leaves, n_columns=None):
    """The kinds that compete by default.

    Parameters
    ----------
    problem : Problem
    leaf : {"auto", "constant", "linear"}
    linear_leaves : LinearLeaves or None
    n_columns : int or None, default=None
        Number of columns of each tree; None for all. A column has at least one feature.

    Returns
    -------
    list of Kind
        The first is the one to take if none can be compared.
    """
    is_classifier = problem.loss.is_classifier
    p = problem.X.shape[1] if n_columns is None else n_columns
    finish = (linear_leaves,) if leaf == "linear" else ()
    # As many splits as random forests try at a node, each on one feature.
    random = RandomOblique(max(1, round(np.sqrt(p) if is_classifier else p / 3)), 1)
    n_candidates = random.n_candidates if is_classifier else min(p, MAX_CANDIDATES)
    oblique = RandomOblique(max(n_candidates, MIN_CANDIDATES), min(N_NONZERO, p))
    tao = TAO(C=1.0 if is_classifier else 10.0, max_passes=5)
    if problem.X.shape[1] > MAX_SOFT_FEATURES:
        whole = Kind("ssgd", InfoGain(), (SSGD(), *finish))
    else:
        soft = Annealed(leaf="linear" if finish and not is_classifier else "constant")
        whole = Kind("annealed", RandomComplete(), (soft, *finish))
    found = [whole, Kind("tao", random, (tao, *finish), MAX_TRAINED_DEPTH),
             Kind("random oblique", oblique, finish), Kind("random", random, finish)]
    # Softly trained trees were mostly the best for classification, and seldom for regression.
    return found if is_classifier else [found[1], found[0], *found[2:]]
