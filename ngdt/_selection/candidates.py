"""The trees that compete by default."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ngdt._core.scaling import MAX_SOFT_FEATURES, is_wide
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.linear_leaves.models import node_type
from ngdt._methods.soft.annealed import TAUGHT_LOSSES, TAUGHT_PENALTY
from ngdt._methods.soft.teachers import TEACHERS_WORK
from ngdt._selection.reduced import optimize
from ngdt._selection.result import append_metrics, empty_history
from ngdt.initializers import InfoGain, Initializer, RandomComplete
from ngdt.optimizers import SSGD, TAO, Annealed, LinearLeaves, ShrinkLeaves

# Number of samples from which fewer candidates compete, since each takes longer.
MANY_SAMPLES = 2000
# Depths of soft regression trees with linear leaves, and of those with constant leaves, which TAO
# trains further. Of linear leaves without teachers, it never made the best tree of six tables.
LINEAR_DEPTHS, CONSTANT_DEPTHS = (2, 3, 4), (3, 4)
# Number of teachers, and depths of soft regression trees with teachers, with linear and with
# constant leaves.
N_TEACHERS, TAUGHT_LINEAR_DEPTH, TAUGHT_DEPTH = 6, 6, 7
# Largest number of training samples of a race for teachers of linear leaves. On five tables with
# more, they never had the least error, and took half of the time.
MAX_TAUGHT_SAMPLES = 8000
# Largest number of features for model trees.
MAX_MODEL_FEATURES = 128
# Largest number of coefficients of a model for classes, with few and with many samples; values of
# 1 / penalty for trees of a single leaf, and the penalty of deeper ones.
FEW_COEFFICIENTS, MANY_COEFFICIENTS = 1000, 250
LOGISTIC_CS, CLASS_PENALTY = (0.01, 0.1, 1.0, 10.0), 10.0
# Steps of soft training of wide sparse data, in a race and in the end: few, as a few features tell
# any two samples apart.
WIDE_STEPS, FINAL_WIDE_STEPS = 250, 500
# Depth of soft trees of few samples, unless it gives each class less than a number of leaves: on
# 1900 samples of Letter, 26 classes, each level up to the 9th gained 1 to 5 points.
FEW_DEPTH, FEW_LEAVES = 6, 16
# Steps of soft training of few samples, where more were no more accurate, and in a race of many
# samples. With 500 steps there, others won on SatImage that were worse than 2250 steps.
FEW_STEPS, RACE_STEPS = 500, 1000
# Largest share of another sample in what a further soft tree is shown of each sample, least number
# of features, which must have one scale, as pixels do, and number of samples from which there is
# none. With 5100 to 10 000 samples, it won on USPS, MNIST and Fashion-MNIST, where it raised the
# accuracy of the default by 0.9, 0.3 and 0.2 points. With fewer features it was never the best.
MIXING, MIN_MIXED_FEATURES, MAX_MIXED_SAMPLES = 0.4, 64, 20_000
# Passes of TAO in a race and in the end. More changed the accuracy by less than 0.1 points.
RACE_PASSES, N_PASSES = 2, 5


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to make a tree.

    Attributes
    ----------
    name : str
    optimizers : tuple of Optimizer
    init : Initializer or str
        Makes the initial tree. "pruned" is the pruned greedy tree, "initial" that of a depth of at
        most 8 with at least one split, and "model" the model tree.
    final : tuple of Optimizer or None
        Replace the optimizers where the tree is trained on all samples.
    n_teachers : int
        If positive, the optimizers are given what so many teachers predict: `Annealed.taught`.
    """

    name: str
    optimizers: tuple = ()
    init: Initializer | str = "initial"
    final: tuple | None = None
    n_teachers: int = 0

    @property
    def is_single_leaf(self):
        """Whether the tree is a single constant leaf."""
        return isinstance(self.init, SingleLeaf) and not self.optimizers

    @property
    def is_pruned(self):
        """Whether the tree is the pruned greedy tree."""
        return self.init == "pruned" and not self.optimizers

    @property
    def is_soft_linear(self):
        """Whether soft training with linear leaves comes first."""
        return any(isinstance(each, Annealed) and each.leaf == "linear"
                   for each in self.optimizers[:1])

    def fit(self, problem, tree_of, *, final=False):
        """Train the tree.

        Parameters
        ----------
        problem : Problem
        tree_of : callable
            Makes the initial tree of a name.
        final : bool, default=False
            Whether this is the last training, on all samples.

        Returns
        -------
        tree : Tree
        history : dict of lists
        interrupted : bool
        """
        optimizers = self.final if final and self.final is not None else self.optimizers
        tree = tree_of(self.init) if isinstance(self.init, str) else self.init.initialize(problem)
        history = empty_history(optimizers)
        share = 1 / max(1, len(optimizers))
        if self.n_teachers:
            problem = Annealed(n_teachers=self.n_teachers).taught(problem)
            share *= 1 - TEACHERS_WORK
        for optimizer in optimizers:
            result = optimize(optimizer, tree, problem.doing(share))
            tree = result.tree
            append_metrics(history, type(optimizer).__name__, result.history)
            if result.interrupted:
                return tree, history, True
        return tree, history, False


def default_candidates(problem, leaf="constant", linear_leaves=None):
    """The trees that compete by default.

    Parameters
    ----------
    problem : Problem
    leaf, linear_leaves
        As for `race`.

    Returns
    -------
    list of Candidate
        The first is the pruned greedy tree, unless all have linear leaves. Of equally good ones,
        the first wins.
    """
    few = len(problem.training_samples) < MANY_SAMPLES
    if leaf == "linear":
        linear_leaves.check(problem)
    if node_type(problem.loss) is None:
        leaf = "constant"
    candidates = _class_candidates if problem.loss.is_classifier else _regression_candidates
    return candidates(problem, few, leaf, linear_leaves)


def _class_candidates(problem, few, leaf, linear_leaves):
    """The trees for classes. The last is also the one that is trained if none can compete."""
    linear = [] if leaf == "constant" else (
        _logistic_candidates(problem, leaf, linear_leaves))
    if leaf == "linear":
        return linear
    # Next to linear leaves, some trees are seldom the best, and their time is saved.
    fewer = linear or problem.row_span is not None
    Cs = ((0.1, 1.0, 10.0) if fewer else (0.03, 0.1, 0.3, 1.0, 10.0)) if few else (0.1,)
    found = [Candidate("pruned", (), "pruned"), *map(_tao, Cs), *linear]
    if problem.row_span is not None:
        return [*found, _wide_candidate(problem, FEW_STEPS)]
    if is_wide(problem.X) and sparse.issparse(problem.X):
        return [*found, _wide_candidate(problem, WIDE_STEPS)]
    if problem.X.shape[1] > MAX_SOFT_FEATURES:
        return [*found, Candidate("ssgd", (SSGD(),), InfoGain())]
    depths = _soft_depths(problem, few)
    found += [_annealed(depth, few) for depth in depths if not (linear and depth == 4)]
    if not few and _has_pixels(problem) and len(problem.training_samples) < MAX_MIXED_SAMPLES:
        found.append(_annealed(depths[-1], few, mixing=MIXING))
    return found


def _has_pixels(problem):
    """Whether there are many features of one scale."""
    return (not sparse.issparse(problem.X) and problem.X.shape[1] >= MIN_MIXED_FEATURES
            and np.ptp(problem.scaling.scale) == 0)


def _wide_candidate(problem, steps):
    """The soft tree for classes of wide data, with two to four leaves per class."""
    depth = min(1 + int(np.ceil(np.log2(problem.n_outputs))), RandomComplete().depth(problem))
    return Candidate(f"annealed depth={depth}", (Annealed(steps=steps),),
                     RandomComplete(max_depth=depth), (Annealed(steps=FINAL_WIDE_STEPS),))


def takes_models(problem):
    """Whether linear models of all features compete in the leaves."""
    p = problem.X.shape[1]
    if p > MAX_MODEL_FEATURES:
        return False
    few = len(problem.training_samples) < MANY_SAMPLES
    return not problem.loss.is_classifier or (
        problem.n_outputs * (p + 1) <= (FEW_COEFFICIENTS if few else MANY_COEFFICIENTS))


def _logistic_candidates(problem, leaf, linear_leaves):
    """The trees for classes with linear leaves."""
    given = linear_leaves.penalty
    fitted = [LinearLeaves(features=linear_leaves.features, penalty=penalty) for penalty in (
        [1.0 / C for C in LOGISTIC_CS] if given == "auto" else [given])]
    last = LinearLeaves(
        features=linear_leaves.features, penalty=CLASS_PENALTY if given == "auto" else given)
    if not takes_models(problem):
        return [Candidate("linear", (last,), "pruned")] if leaf == "linear" else []
    found = [Candidate(f"logistic C={1.0 / each.penalty:g}", (each,), SingleLeaf())
             for each in fitted]
    if leaf == "linear":
        found.append(_tao(0.1, last, name="linear, tao"))
    return [*found, Candidate("model tree", (), "model")]


def _tao(C, *finish, name="tao"):
    race, final = _passes(C, *finish)
    return Candidate(f"{name} C={C:g}", race, final=final)


def _passes(C, *finish):
    """TAO and what follows it, in a race and in the end."""
    return [(TAO(C=C, max_passes=n_passes), *finish) for n_passes in (RACE_PASSES, N_PASSES)]


def _regression_candidates(problem, few, leaf, linear_leaves):
    """The trees for regression."""
    linear = [] if leaf == "constant" else _linear_candidates(problem, few, linear_leaves)
    if leaf == "linear":
        return linear
    has_models = any(each.init == "model" for each in linear)
    return _constant_candidates(problem, few, has_models) + linear


def _linear_candidates(problem, few, linear_leaves):
    """The regression trees with linear leaves that compete."""
    if not takes_models(problem):
        return [Candidate("linear", (linear_leaves,), "pruned")]
    finish = () if linear_leaves.penalty == "auto" else (linear_leaves,)
    race, final = _passes(10.0, *finish)
    found = [Candidate("model tree", (), "model"),
             Candidate("model tree, tao", race, "model", final)]
    annealed = Annealed(leaf="linear", steps=FEW_STEPS if few else "auto")
    inits = _complete(problem, LINEAR_DEPTHS[:1] if few else LINEAR_DEPTHS)
    for init, depth in inits:
        name = f"annealed depth={depth}, linear"
        found.append(Candidate(name, (annealed, *finish), init))
    if not few and len(problem.training_samples) <= MAX_TAUGHT_SAMPLES:
        found += _taught_candidates(problem, TAUGHT_LINEAR_DEPTH, "linear", finish)
    return found


def _constant_candidates(problem, few, has_models):
    """The regression trees with constant leaves that compete."""
    finish = (ShrinkLeaves(),)
    found = [Candidate("pruned", (), "pruned"), Candidate("single leaf", (), SingleLeaf())]
    if has_models:      # next to which no other was the best
        return found
    found += [Candidate("pruned, shrunk", finish, "pruned"),
              *(_tao(C, *finish) for C in (0.1, 10.0))]
    if problem.X.shape[1] > MAX_SOFT_FEATURES:
        found.append(Candidate("ssgd", (SSGD(), *finish), InfoGain()))
    elif not few:
        tao = TAO(C=10.0, max_passes=N_PASSES)
        found += [
            Candidate(f"annealed depth={depth}, tao", (Annealed(), tao, *finish), init)
            for init, depth in _complete(problem, CONSTANT_DEPTHS)]
        if problem.loss.name in TAUGHT_LOSSES:
            found += _taught_candidates(problem, TAUGHT_DEPTH, "constant")
    return found


def _taught_candidates(problem, depth, leaf, finish=()):
    """The soft tree with teachers, of a smaller depth if that is the limit of the problem."""
    annealed = Annealed(leaf=leaf, slope_penalty=TAUGHT_PENALTY)
    chain, kind = (annealed, TAO(C=10.0, max_passes=N_PASSES), *finish), {
        "constant": "tao", "linear": "linear, tao"}[leaf]
    return [Candidate(f"annealed depth={depth}, {kind}, taught", chain, init, n_teachers=N_TEACHERS)
            for init, depth in _complete(problem, (min(depth, problem.max_depth or depth),))]


def _complete(problem, depths):
    """Initializers of complete trees with their depths, within the limit of the problem."""
    limit = problem.max_depth
    return [(RandomComplete(max_depth=depth), depth) for depth in depths
            if limit is None or depth <= limit]


def _soft_depths(problem, few):
    """Depths of soft trees, ascending."""
    largest = RandomComplete().depth(problem)
    if few:
        largest = min(largest, max(FEW_DEPTH, round(np.log2(FEW_LEAVES * problem.n_outputs))))
    return [*(depth for depth in (2, 4) if depth < largest), largest]


def _annealed(depth, few, mixing=0.0):
    init, name = RandomComplete(max_depth=depth), f"annealed depth={depth}"
    if few:
        return Candidate(name, (Annealed(steps=FEW_STEPS),), init)
    return Candidate(name + ", mixed" * (mixing > 0), (Annealed(steps=RACE_STEPS, mixing=mixing),),
                     init, (Annealed(mixing=mixing),))
