"""The trees that compete by default. The constants are those of `policy`."""

import numpy as np
from scipy import sparse

from ngdt._core.scaling import MAX_SOFT_FEATURES, is_wide
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.linear_leaves.models import node_type
from ngdt._methods.soft.annealed import TAUGHT_LOSSES, TAUGHT_PENALTY
from ngdt._selection import policy
from ngdt._selection.train import Chain
from ngdt._training.choice import Candidate
from ngdt._training.wide_data import row_span
from ngdt.initializers import InfoGain, RandomComplete
from ngdt.optimizers import SSGD, TAO, Annealed, LinearLeaves, ShrinkLeaves


def candidate(name, *chain, **options):
    """A candidate whose tree is an initial tree, trained by optimizers in turn: a `Chain`."""
    return Candidate(name, Chain(*chain, **options))


def default_candidates(problem, leaf="constant", linear_leaves=None):
    """The trees that compete by default, list of `Candidate`.

    Leaves are "constant", "linear" as `linear_leaves` makes them, or both for "auto". The first
    candidate is the pruned greedy tree, unless all have linear leaves; of equally good ones, the
    first wins. The last is the one that is trained if none can be compared.
    """
    few = len(problem.training_samples) < policy.MANY_SAMPLES
    if leaf == "linear":
        linear_leaves.check(problem)
    if node_type(problem.loss) is None:
        leaf = "constant"
    of_task = _class_candidates if problem.loss.is_classifier else _regression_candidates
    return of_task(problem, few, leaf, linear_leaves)


def takes_models(problem):
    """Return whether linear models of all features compete in the leaves."""
    few, p = len(problem.training_samples) < policy.MANY_SAMPLES, problem.X.shape[1]
    most = policy.FEW_COEFFICIENTS if few else policy.MANY_COEFFICIENTS
    return p <= policy.MAX_MODEL_FEATURES and (
        not problem.loss.is_classifier or problem.n_outputs * (p + 1) <= most)


def _class_candidates(problem, few, leaf, linear_leaves):
    linear = [] if leaf == "constant" else _logistic_candidates(problem, leaf, linear_leaves)
    if leaf == "linear":
        return linear
    has_span = row_span(problem) is not None
    Cs = policy.MANY_CS if not few else policy.FEWER_CS if linear or has_span else policy.FEW_CS
    found = [candidate("pruned", "pruned"), *map(_tao, Cs), *linear]
    if has_span or (is_wide(problem.X) and sparse.issparse(problem.X)):
        # Each class has two to four leaves.
        depth = min(1 + int(np.ceil(np.log2(problem.n_outputs))), RandomComplete().depth(problem))
        steps = policy.FEW_STEPS if has_span else policy.WIDE_STEPS
        return found + _soft(problem, [depth], (Annealed(steps=steps),),
                             (Annealed(steps=policy.FINAL_WIDE_STEPS),))
    if problem.X.shape[1] > MAX_SOFT_FEATURES:
        return [*found, candidate("ssgd", InfoGain(), (SSGD(),))]
    depths = _soft_depths(problem, few)
    fold, last = (policy.FEW_STEPS, None) if few else (policy.FOLD_STEPS, (Annealed(),))
    found += _soft(problem, [depth for depth in depths if not (linear and depth == 4)],
                   (Annealed(steps=fold),), last)
    if not few and _has_pixels(problem) and (
            len(problem.training_samples) < policy.MAX_MIXED_SAMPLES):
        mixed = [(Annealed(steps=steps, mixing=policy.MIXING),) for steps in (fold, "auto")]
        found += _soft(problem, depths[-1:], *mixed, what=", mixed")
    return found


def _has_pixels(problem):
    """Return whether there are many features of one scale."""
    return (not sparse.issparse(problem.X) and problem.X.shape[1] >= policy.MIN_MIXED_FEATURES
            and np.ptp(problem.scaling.scale) == 0)


def _logistic_candidates(problem, leaf, linear_leaves):
    penalties = [linear_leaves.penalty] * 2
    if linear_leaves.penalty == "auto":
        penalties = [*(1.0 / C for C in policy.LOGISTIC_CS), policy.CLASS_PENALTY]
    *each_leaves, last = [LinearLeaves(features=linear_leaves.features, penalty=penalty)
                          for penalty in penalties]
    if not takes_models(problem):
        return [candidate("linear", "pruned", (last,))] if leaf == "linear" else []
    found = [candidate(f"logistic C={1.0 / leaves.penalty:g}", SingleLeaf(), (leaves,))
             for leaves in each_leaves]
    if leaf == "linear":
        found.append(_tao(0.1, last, name="linear, tao"))
    return [*found, candidate("model tree", "model")]


def _regression_candidates(problem, few, leaf, linear_leaves):
    linear = [] if leaf == "constant" else _linear_candidates(problem, few, linear_leaves)
    if leaf == "linear":
        return linear
    found = [candidate("pruned", "pruned"), candidate("single leaf", SingleLeaf())]
    if leaf == "constant" or not takes_models(problem):     # next to which no other was the best
        found += _constant_candidates(problem, few)
    return found + linear


def _linear_candidates(problem, few, linear_leaves):
    if not takes_models(problem):
        return [candidate("linear", "pruned", (linear_leaves,))]
    finish = () if linear_leaves.penalty == "auto" else (linear_leaves,)
    annealed = Annealed(leaf="linear", steps=policy.FEW_STEPS if few else "auto")
    depths = policy.LINEAR_DEPTHS[:1] if few else policy.LINEAR_DEPTHS
    found = [candidate("model tree", "model"),
             candidate("model tree, tao", "model", *_passes(10.0, *finish)),
             *_soft(problem, depths, (annealed, *finish), what=", linear")]
    if not few and len(problem.training_samples) <= policy.MAX_TAUGHT_SAMPLES:
        found += _taught(problem, policy.TAUGHT_LINEAR_DEPTH, "linear", finish)
    return found


def _constant_candidates(problem, few):
    finish = (ShrinkLeaves(),)
    found = [candidate("pruned, shrunk", "pruned", finish),
             *(_tao(C, *finish) for C in (0.1, 10.0))]
    if problem.X.shape[1] > MAX_SOFT_FEATURES:
        found.append(candidate("ssgd", InfoGain(), (SSGD(), *finish)))
    elif not few:
        tao = TAO(C=10.0, max_passes=policy.N_PASSES)
        found += _soft(problem, policy.CONSTANT_DEPTHS, (Annealed(), tao, *finish), what=", tao")
        if problem.loss.name in TAUGHT_LOSSES:
            found += _taught(problem, policy.TAUGHT_DEPTH, "constant")
    return found


def _taught(problem, depth, leaf, finish=()):
    """The soft tree with teachers, of a smaller depth if that is the limit of the problem."""
    annealed = Annealed(leaf=leaf, slope_penalty=TAUGHT_PENALTY)
    chain = annealed, TAO(C=10.0, max_passes=policy.N_PASSES), *finish
    what = {"constant": ", tao, taught", "linear": ", linear, tao, taught"}[leaf]
    return _soft(problem, [min(depth, problem.max_depth or depth)], chain, what=what,
                 n_teachers=policy.N_TEACHERS)


def _tao(C, *finish, name="tao"):
    return candidate(f"{name} C={C:g}", "initial", *_passes(C, *finish))


def _passes(C, *finish):
    """TAO and what follows it, on a fold and in the end."""
    return [(TAO(C=C, max_passes=n), *finish) for n in (policy.FOLD_PASSES, policy.N_PASSES)]


def _soft(problem, depths, *chain, what="", **options):
    """Complete trees within the limit of depth, whose splits `Annealed` trains all together."""
    limit = np.inf if problem.max_depth is None else problem.max_depth
    return [candidate(f"annealed depth={depth}{what}", RandomComplete(max_depth=depth), *chain,
                      **options) for depth in depths if depth <= limit]


def _soft_depths(problem, few):
    """Depths of soft trees, ascending."""
    largest = RandomComplete().depth(problem)
    if few:
        largest = min(largest, max(
            policy.FEW_DEPTH, round(np.log2(policy.FEW_LEAVES * problem.n_outputs))))
    return [*(depth for depth in (2, 4) if depth < largest), largest]
