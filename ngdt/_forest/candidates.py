"""The trees of which forests are made by default. The constants are those of `policy`."""

import numpy as np
from scipy import sparse

from ngdt._core.scaling import MAX_SOFT_FEATURES
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.linear_leaves.models import node_type
from ngdt._methods.soft.annealed import MAX_BATCH_SIZE, default_decay, default_rate
from ngdt._selection import policy
from ngdt._selection.candidates import candidate, takes_models
from ngdt.initializers import RandomComplete, RandomOblique
from ngdt.optimizers import SSGD, TAO, Annealed


def forest_candidates(problem, leaf, linear_leaves, n_columns=None):
    """The trees of which forests are made by default, list of `Candidate`.

    Leaves are as for `default_candidates`. Each tree has so many columns, None for all; a column
    has at least one feature. The first candidate is the one to take if none can be compared.
    """
    p = problem.X.shape[1] if n_columns is None else n_columns
    finish = (linear_leaves,) if leaf == "linear" else ()
    found = _class_candidates(problem, p, finish) if problem.loss.is_classifier else (
        _regression_candidates(problem, p, leaf, linear_leaves, finish))
    is_fast = node_type(problem.loss) is not None and takes_models(problem)
    if leaf == "linear" or (leaf == "auto" and is_fast):
        found.append(candidate("linear model", SingleLeaf(), (linear_leaves,)))
    return found


def _class_candidates(problem, p, finish):
    """Trees for classification. Softly trained ones were mostly the best."""
    # As many splits as random forests try at a node, each on one feature.
    n_candidates = max(1, round(np.sqrt(p)))
    oblique = RandomOblique(
        max(n_candidates, policy.MIN_CANDIDATES), min(policy.N_NONZERO, p))
    random, tao = RandomOblique(n_candidates, 1), TAO(C=1.0, max_passes=policy.N_PASSES)
    found = [_soft_candidate(problem, p, random, finish)]
    if _is_soft(problem) and not sparse.issparse(problem.X) and not _is_large(problem):
        found.append(candidate("annealed, mixed", _soft_init(problem), (
            _annealed(problem, p, mixing=policy.MIXING), *finish)))
    return [*found, candidate("tao", random, (tao, *finish), max_depth=policy.MAX_TRAINED_DEPTH),
            candidate("random oblique", oblique, finish), candidate("random", random, finish)]


def _regression_candidates(problem, p, leaf, linear_leaves, finish):
    """Trees for regression. More splits to choose from were better than for classification."""
    oblique = RandomOblique(
        policy.N_REGRESSION_CANDIDATES, min(policy.N_REGRESSION_NONZERO, p))
    # As many features as random forests try, but drawn with repetition.
    random = RandomOblique(min(p, policy.MAX_FEATURES), 1)
    tao = TAO(C=10.0, max_passes=policy.N_PASSES)
    soft = _soft_candidate(problem, p, random, finish)
    if leaf != "constant" and node_type(problem.loss) is not None and _is_soft(problem):
        # Training fits the leaves itself, with penalties of its own.
        refit = (linear_leaves,) if leaf == "linear" or linear_leaves.penalty != "auto" else ()
        annealed = Annealed(
            leaf="linear", slope_penalty=policy.SLOPE_PENALTY,
            weight_decay=_weight_decay(problem, default_rate(problem.loss, p), "linear"))
        soft = candidate("annealed, linear", RandomComplete(), (annealed, tao, *refit),
                         max_depth=policy.MAX_LINEAR_DEPTH)
    found = [candidate("tao", oblique, (tao, *finish), max_depth=policy.MAX_TRAINED_DEPTH), soft,
             candidate("random oblique", oblique, finish), candidate("random", random, finish)]
    # Next to others, a single leaf draws their predictions towards the mean.
    return found if leaf == "linear" else [*found, candidate("single leaf", SingleLeaf())]


def _soft_candidate(problem, p, random, finish):
    """Trees whose splits are all trained together by gradients, or from random trees by SSGD."""
    if not _is_soft(problem):
        return candidate("ssgd", random, (SSGD(), *finish), max_depth=policy.MAX_TRAINED_DEPTH)
    if problem.loss.is_classifier:
        return candidate("annealed", _soft_init(problem), (_annealed(problem, p), *finish))
    # The loss of regression is not bounded by q, and gained nothing by steeper routing.
    return candidate("annealed", RandomComplete(), (Annealed(), *finish))


def _soft_init(problem):
    """Complete trees, of more levels for many samples."""
    depth = RandomComplete().depth(problem)
    limit = policy.DEEP if problem.max_depth is None else min(policy.DEEP, problem.max_depth)
    return RandomComplete(max(depth, limit) if _is_large(problem) else None)


def _annealed(problem, p, mixing=0.0):
    """Soft training of the trees for classes, of p columns each."""
    steps, rate, weight_decay, n = "auto", "auto", "auto", len(problem.training_samples)
    if policy.EPOCHS * n > policy.MIN_STEPS * MAX_BATCH_SIZE:
        steps = min(policy.MAX_STEPS, policy.EPOCHS * n // MAX_BATCH_SIZE)
    if _is_large(problem):
        rate = min(default_rate(problem.loss, p), policy.RATE / p**policy.RATE_POWER)
        weight_decay = _weight_decay(problem, rate)
    return Annealed(gamma=policy.GAMMA, q=policy.Q, learning_rate=rate,
                    weight_decay=weight_decay, steps=steps, mixing=mixing)


def _weight_decay(problem, rate, leaf="constant"):
    """Weight decay that removes a share of what it would remove in a single tree."""
    return policy.DECAY * default_decay(problem, leaf) / rate


def _is_large(problem):
    return len(problem.training_samples) >= policy.MANY_FOREST_SAMPLES


def _is_soft(problem):
    """Return whether soft training does not take too long."""
    return problem.X.shape[1] <= MAX_SOFT_FEATURES
