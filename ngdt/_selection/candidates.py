"""The trees that compete by default. The constants are those of `policy`."""

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from ngdt._core.scaling import MAX_SOFT_FEATURES, MIN_SPARSE_FEATURES
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.linear_leaves.lasso import MAX_FEATURES, has_few_samples
from ngdt._methods.linear_leaves.models import node_type, takes_linear_leaves
from ngdt._methods.random.random_complete import default_depth
from ngdt._selection import policy
from ngdt._selection.sample import most_to_compare_on, unit_of_weights
from ngdt._selection.train import Candidate
from ngdt._training.folds import N_FOLDS
from ngdt._training.wide_data import RowSpan
from ngdt.initializers import INITIALIZERS, InfoGain, RandomComplete, ScoreBands
from ngdt.optimizers import TAO, Annealed, CutLeaves, LinearLeaves, ShrinkLeaves

# What trains a soft regression tree further.
_LAST_TAO = TAO(C=10.0, max_iter=policy.N_PASSES)


class Leaves(NamedTuple):
    """The leaves that are asked for; "auto" lets trees with both kinds compete."""

    kind: Literal["constant", "linear", "auto"]
    linear: LinearLeaves = LinearLeaves()   # the optimizer that makes leaves linear


CONSTANT = Leaves("constant")


def default_candidates(problem, leaves=CONSTANT):
    """The trees that compete by default, list of `Candidate`, the preferred one first."""
    of_task = _class_candidates if problem.loss.is_classifier else _regression_candidates
    return for_small_weights(of_task(problem, possible_leaves(problem, leaves)), problem)


def possible_leaves(problem, leaves):
    """The leaves that are asked for; constant ones where the loss takes no others."""
    if leaves.kind == "linear":
        leaves.linear.check(problem)
    return leaves if takes_linear_leaves(problem) else CONSTANT


def for_small_weights(candidates, problem):
    """Candidates whose parameters count samples in the unit of the weights."""
    unit = unit_of_weights(problem)
    return [replace(each, optimizers=_in_unit(each.optimizers, unit),
                    final=each.final and _in_unit(each.final, unit)) for each in candidates]


def _in_unit(optimizers, unit):
    """Optimizers whose parameters count a sample of the weight `unit` as one."""
    return tuple(
        replace(each, C=each.C / unit) if isinstance(each, TAO)
        else replace(each, pseudo_count=each.pseudo_count * unit) if isinstance(each, ShrinkLeaves)
        else replace(each, min_gain=each.min_gain * unit) if isinstance(each, CutLeaves)
        else each for each in optimizers)


def named_candidates(problem, optimizers, has_depth, leaves=CONSTANT):
    """Candidates if optimizers are given: trees that these train, and the pruned tree.

    With a depth, the initial tree is grown to it; without one, it is the pruned tree, and a larger
    one for many classes. Soft trees have two depths then, the larger one preferred: a method that
    is asked for gives way only to what is clearly better.
    """
    for each in optimizers:
        each.check(problem)
    init, chain = INITIALIZERS[optimizers[0].default_init](), tuple(optimizers)
    # Steps that finish a tree have no metrics.
    name = ", ".join(each.name or type(each).__name__ for each in chain
                     if each is chain[0] or each.metrics)
    most = None if has_depth else default_depth(problem)
    if isinstance(init, RandomComplete):
        depths = [init.depth(problem)] if has_depth else _depths(problem)[::-1]
        found = _soft(problem, depths, chain, name=name)
    elif has_depth or not isinstance(init, InfoGain):
        found = [Candidate(name, init, chain, max_depth=most)]
    else:       # that of GTO is a greedy one, too
        found = [Candidate(name, "initial", chain)]
        if most > policy.MAX_TRAINED_DEPTH:
            found.append(Candidate(f"{name} depth={most}", init, chain, max_depth=most))
    return [*found, Candidate("pruned", "pruned", (leaves.linear,) * (leaves.kind == "linear"))]


def has_defaults(linear):
    """Return whether linear leaves have their default parameters."""
    # An array of features cannot be compared with a word.
    return isinstance(linear.features, str) and linear.get_params() == LinearLeaves().get_params()


def takes_model_trees(problem):
    """Return whether model trees compete, of all features or, of many, of some."""
    n, p = len(problem.training_samples), problem.X.shape[1]
    return n * min(p, MAX_FEATURES)**2 <= policy.MAX_MODEL_COST


def takes_models(problem):
    """Return whether trees with a linear model of all features in each leaf compete."""
    return problem.X.shape[1] <= MAX_FEATURES and takes_model_trees(problem) and (
        not problem.loss.is_classifier or _n_coefficients(problem) <= (
            policy.FEW_COEFFICIENTS if _has_few(problem) else policy.MANY_COEFFICIENTS))


def _n_coefficients(problem):
    """Number of coefficients of a linear model for classes."""
    return problem.n_outputs * (problem.X.shape[1] + 1)


def _has_few(problem):
    """Return whether samples are so few that each candidate is trained fast."""
    return len(problem.training_samples) < policy.MANY_SAMPLES


def tao_Cs(problem, n_columns=None):
    """Values of C of TAO for trees of so many columns, None for all, the preferred one first."""
    p = problem.X.shape[1] if n_columns is None else n_columns
    # Of so few that nothing can be compared, the small one would leave no split.
    if 2 * N_FOLDS <= len(problem.training_samples) <= p:
        return (policy.WIDE_C,)
    return (policy.CLASS_C,) if problem.loss.is_classifier else policy.REGRESSION_CS


def _class_candidates(problem, leaves):
    linear = [] if leaves.kind == "constant" else _logistic_candidates(problem, leaves)
    if leaves.kind == "linear":
        return linear
    greedy = [_tao(C, CutLeaves()) for C in tao_Cs(problem)]
    if problem.n_outputs == 2 and node_type(problem.loss) is not None:
        p, few = problem.X.shape[1], has_few_samples(problem)
        if p <= (MAX_FEATURES if few else policy.MAX_TERMS):
            greedy.append(Candidate("score bands", ScoreBands()))
        if few or p > policy.MAX_TERMS:
            greedy.append(Candidate("score bands, sparse", ScoreBands(features="lasso")))
    pruned = Candidate("pruned", "pruned")
    if has_many_features(problem):
        return [*_soft_class_candidates(problem), *greedy, pruned, *linear]
    return [*linear, *greedy, *_soft_class_candidates(problem), pruned]


def has_many_features(problem):
    """Return whether a few features tell any two samples apart, or large soft trees take long."""
    X = problem.X
    return X.shape[1] > MAX_SOFT_FEATURES or (
        sparse.issparse(X) and X.shape[1] >= MIN_SPARSE_FEATURES
        and X.nnz <= policy.MAX_STORED * np.prod(X.shape, dtype=float))


def small_depth(problem):
    """Depth at which each class has two to four leaves, within the limits."""
    return min(1 + int(np.ceil(np.log2(problem.n_outputs))), RandomComplete().depth(problem))


def _soft_class_candidates(problem):
    """Complete trees that `Annealed` trains as a whole: of two depths; of many features, one."""
    if problem.directions is not None:      # which soft training does not regard
        return []
    if has_many_features(problem):
        steps = policy.FEW_STEPS if RowSpan.fits(problem) else policy.WIDE_STEPS
        return _soft(problem, [small_depth(problem)], *_steps(steps, policy.FEW_STEPS))
    depths = _depths(problem)
    if _has_few(problem):
        return _soft(problem, depths, *_steps(policy.FEW_STEPS))
    if len(problem.training_samples) > most_to_compare_on(problem):
        # All samples can make more of a large tree than those of the comparison: with 10 000 of
        # 60 000 images of Fashion-MNIST, 16 leaves tied with 95, and were 2.4 points worse then.
        depths = depths[-1:]
    # Of many features of one scale, as pixels are, samples are mixed.
    is_mixed = (
        len(problem.training_samples) < policy.MAX_MIXED_SAMPLES and not sparse.issparse(problem.X)
        and problem.X.shape[1] >= policy.MIN_MIXED_FEATURES and not np.ptp(problem.scaling.scale))
    mixing, what = (policy.MIXING, ", mixed") if is_mixed else (0.0, "")
    return _soft(problem, depths, *_steps(policy.FOLD_STEPS, "auto", mixing=mixing), what=what)


def _steps(*steps, **parameters):
    """Soft training of so many steps, on a fold and in the end."""
    return [(Annealed(steps=each, **parameters), CutLeaves()) for each in steps]


def _logistic_candidates(problem, leaves):
    """Trees with a logistic regression in each leaf, or in the only one."""
    linear = leaves.linear
    if problem.directions is not None:
        tao = [_tao(C, linear, name="linear, tao") for C in tao_Cs(problem)]
        return tao + _shared(linear)
    of_many = linear if linear.penalty != "auto" else replace(linear, penalty=policy.CLASS_PENALTY)
    takes_single = _n_coefficients(problem) <= policy.FEW_COEFFICIENTS
    found = [Candidate("linear model", SingleLeaf(), (linear,))] * takes_single
    others = [Candidate("linear", "pruned", (of_many,))]
    if takes_models(problem):
        found.append(_model_tree(linear))
        others = [_tao(C, of_many, name="linear, tao") for C in tao_Cs(problem)]
    return found + others if leaves.kind == "linear" else found


def _shared(linear):
    """A single leaf, and the pruned tree with leaves that share their slopes."""
    return [Candidate("linear model", SingleLeaf(), (linear,)),
            Candidate("linear", "pruned", (linear,))]


def _model_tree(linear):
    """A model tree, which has the features and the penalty of linear leaves, but not the rest."""
    is_as_given = linear.shrink and linear.clip
    return Candidate("model tree", "model", () if is_as_given else (linear,))


def _regression_candidates(problem, leaves):
    linear, pruned = leaves.linear, [Candidate("pruned", "pruned")] * (leaves.kind != "linear")
    if leaves.kind == "constant":
        return _constant_candidates(problem) + pruned
    if problem.directions is not None:
        return _monotone_candidates(problem, (linear,), "linear, ") + _shared(linear) + pruned
    if not takes_models(problem):
        others = _constant_candidates(problem) + pruned if pruned else []
        return [*others, Candidate("linear", "pruned", (linear,)),
                *[_model_tree(linear)] * takes_model_trees(problem)]
    # TAO and Annealed train leaves with penalties of their own, Annealed those of all features.
    finish = () if has_defaults(linear) else (linear,)
    first = [Candidate("model tree, tao", "model", *_passes(10.0, *finish))]
    if not isinstance(linear.features, str):    # a model tree splits by these features only
        first = [_tao(C, linear, name="linear, tao") for C in tao_Cs(problem)]
    annealed = Annealed(leaf="linear", steps=policy.FEW_STEPS if _has_few(problem) else "auto")
    return [*first, _model_tree(linear), *_soft(
        problem, [policy.LINEAR_DEPTH], (annealed, _LAST_TAO, *finish),
        what=", linear, tao"), *pruned]


def _constant_candidates(problem):
    finish = (ShrinkLeaves(),)
    last = (CutLeaves(), *finish) if problem.loss.is_squared else finish
    if problem.directions is not None:
        return _monotone_candidates(problem, last)
    found = [_tao(C, *last) for C in tao_Cs(problem)]
    if problem.X.shape[1] <= MAX_SOFT_FEATURES and not _has_few(problem):
        found += _soft(problem, policy.CONSTANT_DEPTHS, (Annealed(), _LAST_TAO, *last),
                       what=", tao")
    return [*found, Candidate("pruned, shrunk", "pruned", finish)]


def _monotone_candidates(problem, finish, leaves=""):
    """Trees that TAO makes monotone: half of the leaves get the value of another one."""
    greedy = _tao(10.0, *finish, name=f"{leaves}tao", n_passes=policy.MONOTONE_PASSES)
    few, has_free = _has_few(problem), (problem.directions[problem.varying] == 0).any()
    if problem.X.shape[1] > MAX_SOFT_FEATURES or (few and not has_free):
        return [greedy]
    depth = _depths(problem)[-1]
    n_passes, levels = policy.MONOTONE_PASSES, policy.FREE_LEVELS if has_free else 0
    if few:
        n_passes, levels = policy.FEW_MONOTONE_PASSES, policy.FEW_FREE_LEVELS
    chain = [(Annealed(steps=policy.FEW_STEPS), *tao)
             for tao in _passes(10.0, *finish, n_passes=n_passes)]
    soft = _soft(
        problem, [depth], *chain, what=f", {leaves}tao, {levels} free levels",
        free_levels=levels)
    # On 450 samples of concrete, the greedy one was three points better than soft trees.
    return [greedy, *soft] if few else [*soft, greedy]


def _tao(C, *finish, name="tao", **passes):
    return Candidate(f"{name} C={C:g}", "initial", *_passes(C, *finish, **passes))


def _passes(C, *finish, n_passes=(policy.FOLD_PASSES, policy.N_PASSES)):
    """TAO and what follows it, on a fold and in the end."""
    return [(TAO(C=C, max_iter=n), *finish) for n in n_passes]


def _depths(problem):
    """Depths of soft trees, ascending: one at which each class has a leaf, and a larger one."""
    largest = RandomComplete().depth(problem)
    if _has_few(problem):
        largest = min(largest, default_depth(problem) - policy.FEW_LEVELS_LESS)
    classes = problem.n_outputs if problem.loss.is_classifier else 1
    return sorted({min(max(policy.SMALL_DEPTH, int(np.ceil(np.log2(classes)))), largest), largest})


def _soft(problem, depths, *chain, name="annealed", what="", **options):
    """Complete trees within the limits of the size, whose splits are trained all together."""
    limit = RandomComplete().depth(problem)
    return [Candidate(
        f"{name} depth={depth}{what}", RandomComplete(max_depth=depth), *chain, **options)
        for depth in depths if depth <= limit]
