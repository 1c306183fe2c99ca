"""The trees that compete by default. The constants are those of `policy`."""

import numpy as np
from scipy import sparse

from ngdt._core.scaling import MAX_SOFT_FEATURES, is_wide
from ngdt._methods.finishing.shrink_leaves import ShrinkLeaves
from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.linear_leaves.linear_leaves import LinearLeaves
from ngdt._methods.linear_leaves.models import node_type
from ngdt._methods.random.random_complete import RandomComplete
from ngdt._methods.sgd.sgd import SSGD
from ngdt._methods.soft.annealed import TAUGHT_LOSSES, TAUGHT_PENALTY, Annealed
from ngdt._methods.tao.tao import TAO
from ngdt._selection import policy
from ngdt._selection.train import Chain
from ngdt._training.choice import Candidate
from ngdt._training.wide import row_span


def candidate(name, init, optimizers=(), final=None, n_teachers=0):
    """A candidate whose tree is an initial tree, trained by optimizers in turn."""
    return Candidate(name, Chain(init, optimizers, final, n_teachers))


def default_candidates(problem, leaf="constant", linear_leaves=None):
    """The trees that compete by default.

    Parameters
    ----------
    problem : Problem
    leaf : {"auto", "constant", "linear"}, default="constant"
        Leaves of the candidates; "auto" are both kinds.
    linear_leaves : LinearLeaves or None, default=None
        Makes leaves linear.

    Returns
    -------
    list of Candidate
        The first is the pruned greedy tree, unless all have linear leaves. Of equally good ones,
        the first wins. The last is the one that is trained if none can be compared.
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
    p = problem.X.shape[1]
    if p > policy.MAX_MODEL_FEATURES:
        return False
    few = len(problem.training_samples) < policy.MANY_SAMPLES
    return not problem.loss.is_classifier or problem.n_outputs * (p + 1) <= (
        policy.FEW_COEFFICIENTS if few else policy.MANY_COEFFICIENTS)


def _class_candidates(problem, few, leaf, linear_leaves):
    linear = [] if leaf == "constant" else _logistic_candidates(problem, leaf, linear_leaves)
    if leaf == "linear":
        return linear
    has_span = row_span(problem) is not None
    Cs = policy.MANY_CS if not few else policy.FEWER_CS if linear or has_span else policy.FEW_CS
    found = [candidate("pruned", "pruned"), *map(_tao, Cs), *linear]
    if has_span:
        return [*found, _wide_candidate(problem, policy.FEW_STEPS)]
    if is_wide(problem.X) and sparse.issparse(problem.X):
        return [*found, _wide_candidate(problem, policy.WIDE_STEPS)]
    if problem.X.shape[1] > MAX_SOFT_FEATURES:
        return [*found, candidate("ssgd", InfoGain(), (SSGD(),))]
    depths = _soft_depths(problem, few)
    found += [_annealed(depth, few) for depth in depths if not (linear and depth == 4)]
    if not few and _has_pixels(problem) and (
            len(problem.training_samples) < policy.MAX_MIXED_SAMPLES):
        found.append(_annealed(depths[-1], few, policy.MIXING))
    return found


def _has_pixels(problem):
    """Return whether there are many features of one scale."""
    return (not sparse.issparse(problem.X) and problem.X.shape[1] >= policy.MIN_MIXED_FEATURES
            and np.ptp(problem.scaling.scale) == 0)


def _logistic_candidates(problem, leaf, linear_leaves):
    features, given = linear_leaves.features, linear_leaves.penalty
    is_auto = given == "auto"
    penalties = [1.0 / C for C in policy.LOGISTIC_CS] if is_auto else [given]
    last = LinearLeaves(features=features, penalty=policy.CLASS_PENALTY if is_auto else given)
    if not takes_models(problem):
        return [candidate("linear", "pruned", (last,))] if leaf == "linear" else []
    found = [candidate(f"logistic C={1.0 / penalty:g}", SingleLeaf(),
                       (LinearLeaves(features=features, penalty=penalty),))
             for penalty in penalties]
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
             *(candidate(f"annealed depth={depth}, linear", init, (annealed, *finish))
               for init, depth in _complete(problem, depths))]
    if not few and len(problem.training_samples) <= policy.MAX_TAUGHT_SAMPLES:
        found += _taught_candidates(problem, policy.TAUGHT_LINEAR_DEPTH, "linear", finish)
    return found


def _constant_candidates(problem, few):
    finish = (ShrinkLeaves(),)
    found = [candidate("pruned, shrunk", "pruned", finish),
             *(_tao(C, *finish) for C in (0.1, 10.0))]
    if problem.X.shape[1] > MAX_SOFT_FEATURES:
        found.append(candidate("ssgd", InfoGain(), (SSGD(), *finish)))
    elif not few:
        tao = TAO(C=10.0, max_passes=policy.N_PASSES)
        found += [candidate(f"annealed depth={depth}, tao", init, (Annealed(), tao, *finish))
                  for init, depth in _complete(problem, policy.CONSTANT_DEPTHS)]
        if problem.loss.name in TAUGHT_LOSSES:
            found += _taught_candidates(problem, policy.TAUGHT_DEPTH, "constant")
    return found


def _taught_candidates(problem, depth, leaf, finish=()):
    """The soft tree with teachers, of a smaller depth if that is the limit of the problem."""
    annealed = Annealed(leaf=leaf, slope_penalty=TAUGHT_PENALTY)
    chain = annealed, TAO(C=10.0, max_passes=policy.N_PASSES), *finish
    what = {"constant": "tao", "linear": "linear, tao"}[leaf]
    return [candidate(f"annealed depth={depth}, {what}, taught", init, chain,
                      n_teachers=policy.N_TEACHERS)
            for init, depth in _complete(problem, (min(depth, problem.max_depth or depth),))]


def _tao(C, *finish, name="tao"):
    return candidate(f"{name} C={C:g}", "initial", *_passes(C, *finish))


def _passes(C, *finish):
    """TAO and what follows it, on a fold and in the end."""
    return [(TAO(C=C, max_passes=n), *finish) for n in (policy.FOLD_PASSES, policy.N_PASSES)]


def _complete(problem, depths):
    """Initializers of complete trees with their depths, within the limit of the problem."""
    limit = problem.max_depth
    return [(RandomComplete(max_depth=depth), depth) for depth in depths
            if limit is None or depth <= limit]


def _soft_depths(problem, few):
    """Depths of soft trees, ascending."""
    largest = RandomComplete().depth(problem)
    if few:
        largest = min(largest, max(
            policy.FEW_DEPTH, round(np.log2(policy.FEW_LEAVES * problem.n_outputs))))
    return [*(depth for depth in (2, 4) if depth < largest), largest]


def _wide_candidate(problem, steps):
    """The soft tree for classes of wide data, with two to four leaves per class."""
    depth = min(1 + int(np.ceil(np.log2(problem.n_outputs))), RandomComplete().depth(problem))
    return candidate(f"annealed depth={depth}", RandomComplete(max_depth=depth),
                     (Annealed(steps=steps),), (Annealed(steps=policy.FINAL_WIDE_STEPS),))


def _annealed(depth, few, mixing=0.0):
    init, name = RandomComplete(max_depth=depth), f"annealed depth={depth}"
    if few:
        return candidate(name, init, (Annealed(steps=policy.FEW_STEPS),))
    return candidate(name + ", mixed" * (mixing > 0), init,
                     (Annealed(steps=policy.FOLD_STEPS, mixing=mixing),),
                     (Annealed(mixing=mixing),))
