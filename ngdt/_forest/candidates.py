"""The trees of which forests are made by default. The constants are those of `policy`."""

import numpy as np
from scipy import sparse

from ngdt._core.scaling import MAX_SOFT_FEATURES
from ngdt._forest import policy
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.linear_leaves.lasso import has_few_samples
from ngdt._methods.soft.annealed import N_STEPS, default_decay, default_rate
from ngdt._selection.candidates import (
    CONSTANT,
    for_small_weights,
    has_defaults,
    has_many_features,
    possible_leaves,
    small_depth,
    takes_model_trees,
    takes_models,
    tao_Cs,
)
from ngdt._selection.policy import MAX_TRAINED_DEPTH, MIXING, N_PASSES
from ngdt._selection.train import Candidate
from ngdt.initializers import ModelTree, RandomComplete, RandomOblique
from ngdt.optimizers import SSGD, TAO, Annealed, LinearLeaves


def forest_candidates(problem, leaves=CONSTANT, n_columns=None):
    """The trees of which forests are made by default, list of `Candidate`.

    Each tree has so many columns, None for all; a column has at least one feature. The first
    candidate is the one to take if none can be compared.
    """
    leaves = possible_leaves(problem, leaves)
    p = len(problem.varying) if n_columns is None else n_columns
    finish = (leaves.linear,) if leaves.kind == "linear" else ()
    is_class, is_monotone = problem.loss.is_classifier, problem.directions is not None
    oblique, random, try_all = _random_trees(problem, p)
    tao = TAO(C=tao_Cs(problem, p)[0], max_iter=N_PASSES)
    trained = Candidate("tao", random if is_class else oblique, (tao, *finish),
                        max_depth=MAX_TRAINED_DEPTH)
    most = MAX_TRAINED_DEPTH if is_monotone else None
    grown = [Candidate("random oblique", oblique, finish, max_depth=most),
             Candidate("random", random, finish, max_depth=most)]
    leaf = Candidate("single leaf", SingleLeaf(), finish)
    if is_monotone:     # small trees are trained to be so, or made so: others regard no directions
        found = [trained, *grown, leaf]
    elif is_class:      # softly trained ones were mostly the best
        found = [*_soft_class_candidates(problem, p, finish), trained, *grown]
        # Where few of many features matter, most nodes of random trees try none of them.
        if try_all.n_candidates > random.n_candidates:
            found.append(Candidate("random, all", try_all, finish))
    else:
        if problem.X.shape[1] > MAX_SOFT_FEATURES:
            soft = Candidate("ssgd", random, (SSGD(), *finish), max_depth=MAX_TRAINED_DEPTH)
        else:
            soft = _soft_regression_candidate(problem, p, leaves, tao)
        # Next to others, a single leaf draws their predictions towards the mean.
        found = [trained, soft, *grown, *[leaf] * (leaves.kind != "linear")]
    if leaves.kind != "constant" and not is_monotone:
        found += _linear_candidates(problem, leaves)
    if not predicts_means(problem.loss):
        # There is no trial. Both in equal shares were better than either one, or nearly as good.
        found = [each for each in found if each.name in ("tao", "model tree")]
    return for_small_weights(found, problem)


def predicts_means(loss):
    """Return whether predictions are means, which squared errors judge."""
    return loss.is_classifier or loss.is_squared or loss.has_log_link


def _linear_candidates(problem, leaves):
    """Trees of one linear leaf, and model trees."""
    found = []
    if leaves.kind == "linear" or takes_models(problem):
        found.append(Candidate("linear model", SingleLeaf(), (leaves.linear,)))
    if not (has_defaults(leaves.linear) and takes_model_trees(problem)):
        return found
    if not problem.loss.is_classifier:
        # With all folds, forests were no better, and took up to twice as long.
        found.append(Candidate("model tree", ModelTree(n_folds=1)))
    elif problem.n_outputs == 2 and has_few_samples(problem):
        found.append(Candidate(
            "linear model, sparse", SingleLeaf(), (LinearLeaves(features="lasso"),)))
    return found


def _soft_class_candidates(problem, p, finish):
    """Complete trees for classes, of p columns each, whose splits are all trained together."""
    depth = None
    if has_many_features(problem):
        depth = small_depth(problem)
    elif _is_large(problem):
        depth = max(RandomComplete().depth(problem), problem.limits.depth(policy.DEEP))
    mixing = {"annealed": 0.0}
    if not sparse.issparse(problem.X) and not _is_large(problem):
        mixing["annealed, mixed"] = MIXING
    options = {"gamma": policy.GAMMA, "q": policy.Q, **_soft_options(problem, p)}
    return [Candidate(name, RandomComplete(depth), (Annealed(mixing=share, **options), *finish))
            for name, share in mixing.items()]


def _soft_regression_candidate(problem, p, leaves, tao):
    """Trees for regression, of p columns each, whose splits are all trained together."""
    if leaves.kind == "constant":
        # The loss of regression is not bounded by q, and gained nothing by steeper routing.
        return Candidate("annealed", RandomComplete(), (Annealed(**_soft_options(problem, p)),))
    # Training fits the leaves itself, with penalties of its own.
    is_given = leaves.kind == "linear" or leaves.linear.penalty != "auto"
    annealed = Annealed(leaf="linear", slope_penalty=policy.SLOPE_PENALTY,
                        **_soft_options(problem, p, "linear"))
    return Candidate("annealed, linear", RandomComplete(),
                     (annealed, tao, *[leaves.linear] * is_given),
                     max_depth=policy.MAX_LINEAR_DEPTH)


def _random_trees(problem, p):
    """Initializers of splits on several features, on one, and on one of all, of p columns each."""
    # A node tries as many as there are, drawn with repetition, so that trees differ.
    try_all = RandomOblique(min(p, policy.MAX_FEATURES), n_nonzero=1)
    if not problem.loss.is_classifier:
        # More splits to choose from were better than for classification.
        return RandomOblique(policy.N_REGRESSION_CANDIDATES,
                             n_nonzero=min(policy.N_REGRESSION_NONZERO, p)), try_all, try_all
    # As many splits as random forests try at a node.
    n_candidates = max(1, round(np.sqrt(p)))
    oblique = RandomOblique(
        max(n_candidates, policy.MIN_CANDIDATES), n_nonzero=min(policy.N_NONZERO, p))
    return oblique, RandomOblique(n_candidates, n_nonzero=1), try_all


def _soft_options(problem, p, leaf="constant"):
    """Parameters of the soft training of trees of p columns each, dict."""
    n, steps = len(problem.training_samples), policy.STEPS
    rate, decay = default_rate(problem.loss, p), default_decay(problem, leaf)
    if problem.loss.is_classifier:
        steps = max(steps, n // policy.SAMPLES_PER_STEP)
    if _is_large(problem):
        rate = min(rate, policy.RATE / p**policy.RATE_POWER)
        return {"learning_rate": rate, "weight_decay": policy.DECAY * decay / rate}
    if steps >= N_STEPS:
        return {} if n >= policy.MANY_STEPS_SAMPLES else {"steps": N_STEPS}
    rate, decay = rate * (N_STEPS / steps)**0.5, decay * N_STEPS / steps
    return {"steps": steps, "learning_rate": rate, "weight_decay": decay / rate}


def _is_large(problem):
    return (problem.loss.is_classifier
            and len(problem.training_samples) >= policy.MANY_FOREST_SAMPLES)
