"""The kinds of trees of which forests are made by default."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ngdt._core.scaling import MAX_SOFT_FEATURES
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.linear_leaves.models import node_type
from ngdt._methods.soft.annealed import MAX_BATCH_SIZE, default_decay, default_rate
from ngdt._selection.candidates import takes_models
from ngdt._selection.race import MAX_TRAINED_DEPTH
from ngdt.initializers import Initializer, RandomComplete, RandomOblique
from ngdt.optimizers import SSGD, TAO, Annealed

# Number of features of a random oblique split of classes, and least number of those that are tried.
N_NONZERO, MIN_CANDIDATES = 3, 5
# The same for regression, and largest number of axis-aligned splits that are tried there.
N_REGRESSION_NONZERO, N_REGRESSION_CANDIDATES, MAX_FEATURES = 2, 40, 100
# Largest number of levels of trees that are trained with linear leaves, and penalty on the slopes.
# With these and half of the usual weight decay, six to eight such trees had less squared error on
# held-out samples of all of 12 sets than with 5 levels, a penalty of 3 and the usual decay.
MAX_LINEAR_DEPTH, SLOPE_PENALTY = 6, 1.0
# Passes of TAO.
N_PASSES = 5
# Depth of softly trained trees for classes from this number of samples on. On held-out samples of
# MNIST and Fashion-MNIST, squared errors of forests were 9 and 1 % less than at the usual depth of
# 8, and on Connect4 accuracy 0.6 points higher. A trial has too few samples to tell.
DEEP, MANY_SAMPLES = 10, 20_000
# Epochs of their training, within these numbers of steps, the least of which is that of a single
# tree. Twice the steps lowered squared errors by 13 % on Letter (15 000 samples), 3 % on MNIST and
# 4 % on Fashion-MNIST, but not on sets of 7500 samples or fewer.
EPOCHS, MIN_STEPS, MAX_STEPS = 75, 2250, 4500
# Learning rate of such deep trees times n_features**RATE_POWER, where this is below the usual rate,
# and share of the usual weight decay. On held-out samples, squared errors were 11 % less on MNIST,
# 10 % on Fashion-MNIST, 5 % on Connect4 and 1 % on a table of 16 features; by the rate alone 12, 5,
# 2 and 0 %. On Letter, half of the decay lost 2 %.
RATE, RATE_POWER, DECAY = 0.29, 0.85, 0.5
# Bound of the loss of softly trained trees of classes. A tree with 0.5, the default, is as good.
# But twelve with 0.2 had less squared error on held-out samples of nine of ten training sets, by up
# to 15 %.
Q = 0.2
# Steepness of their routing, which ends twice as hard as that of a single tree. Eight or
# twelve such trees had less squared error on held-out samples of SatImage, Pendigits, USPS and
# Letter, by 2 to 11 %, and of 16 of 24 tables, by 1 % on average. On Connect4 they had 1 % more.
GAMMA = (1.0, 14.0)
# Largest share of another sample in what a second kind of them is shown of each. On held-out
# samples of USPS, such trees had 17 to 29 % less squared error, and on Letter half as much again:
# the trial has to choose. Many samples get none: on 22 500 of MNIST they had 10 % more.
MIXING = 0.4


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
    p = problem.X.shape[1] if n_columns is None else n_columns
    finish = (linear_leaves,) if leaf == "linear" else ()
    kinds = _class_kinds(problem, p, finish) if problem.loss.is_classifier else (
        _regression_kinds(problem, p, leaf, linear_leaves, finish))
    is_fast = node_type(problem.loss) is not None and takes_models(problem)
    if leaf == "linear" or (leaf == "auto" and is_fast):
        kinds.append(Kind("linear model", SingleLeaf(), (linear_leaves,)))
    return kinds


def _class_kinds(problem, p, finish):
    """The kinds for classification. Softly trained trees were mostly the best ones."""
    # As many splits as random forests try at a node, each on one feature.
    n_candidates = max(1, round(np.sqrt(p)))
    oblique = RandomOblique(max(n_candidates, MIN_CANDIDATES), min(N_NONZERO, p))
    random, tao = RandomOblique(n_candidates, 1), TAO(C=1.0, max_passes=N_PASSES)
    return [_soft_kind(problem, p, random, finish), *_mixed_kind(problem, p, finish),
            Kind("tao", random, (tao, *finish), MAX_TRAINED_DEPTH),
            Kind("random oblique", oblique, finish), Kind("random", random, finish)]


def _regression_kinds(problem, p, leaf, linear_leaves, finish):
    """The kinds for regression. More splits to choose from were better than for classification."""
    oblique = RandomOblique(N_REGRESSION_CANDIDATES, min(N_REGRESSION_NONZERO, p))
    # As many features as random forests try, but drawn with repetition.
    random, tao = RandomOblique(min(p, MAX_FEATURES), 1), TAO(C=10.0, max_passes=N_PASSES)
    soft = _soft_kind(problem, p, random, finish)
    if leaf != "constant" and node_type(problem.loss) is not None and _is_soft(problem):
        # Training fits the leaves itself, with penalties of its own.
        refit = (linear_leaves,) if leaf == "linear" or linear_leaves.penalty != "auto" else ()
        annealed = Annealed(
            leaf="linear", slope_penalty=SLOPE_PENALTY,
            weight_decay=_weight_decay(problem, default_rate(problem.loss, p), "linear"))
        soft = Kind("annealed, linear", RandomComplete(), (annealed, tao, *refit), MAX_LINEAR_DEPTH)
    found = [Kind("tao", oblique, (tao, *finish), MAX_TRAINED_DEPTH), soft,
             Kind("random oblique", oblique, finish), Kind("random", random, finish)]
    # Next to others, a single leaf draws their predictions towards the mean.
    return found if leaf == "linear" else [*found, Kind("single leaf", SingleLeaf())]


def _soft_kind(problem, p, random, finish):
    """Trees whose splits are all trained together by gradients, or from random trees by SSGD."""
    if not _is_soft(problem):
        return Kind("ssgd", random, (SSGD(), *finish), MAX_TRAINED_DEPTH)
    if problem.loss.is_classifier:
        return Kind("annealed", _soft_init(problem), (_annealed(problem, p), *finish))
    # The loss of regression is not bounded by q, and gained nothing by steeper routing.
    return Kind("annealed", RandomComplete(), (Annealed(), *finish))


def _mixed_kind(problem, p, finish):
    """Softly trained trees that are shown mixtures of samples."""
    if not _is_soft(problem) or sparse.issparse(problem.X) or _is_large(problem):
        return []
    return [Kind("annealed, mixed", _soft_init(problem),
                 (_annealed(problem, p, mixing=MIXING), *finish))]


def _soft_init(problem):
    """Complete trees, of more levels for many samples."""
    depth = RandomComplete().depth(problem)
    limit = DEEP if problem.max_depth is None else min(DEEP, problem.max_depth)
    return RandomComplete(max(depth, limit) if _is_large(problem) else None)


def _annealed(problem, p, mixing=0.0):
    """Soft training of the trees for classes, of p columns each."""
    steps, rate, weight_decay = "auto", "auto", "auto"
    if EPOCHS * len(problem.training_samples) > MIN_STEPS * MAX_BATCH_SIZE:
        steps = min(MAX_STEPS, EPOCHS * len(problem.training_samples) // MAX_BATCH_SIZE)
    if _is_large(problem):
        rate = min(default_rate(problem.loss, p), RATE / p**RATE_POWER)
        weight_decay = _weight_decay(problem, rate)
    return Annealed(gamma=GAMMA, q=Q, learning_rate=rate, weight_decay=weight_decay, steps=steps,
                    mixing=mixing)


def _weight_decay(problem, rate, leaf="constant"):
    """What removes the share `DECAY` of what a single tree would."""
    return DECAY * default_decay(problem, leaf) / rate


def _is_large(problem):
    return len(problem.training_samples) >= MANY_SAMPLES


def _is_soft(problem):
    """Whether soft training does not take too long."""
    return problem.X.shape[1] <= MAX_SOFT_FEATURES
