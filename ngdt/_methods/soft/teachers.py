"""Teachers: trees with linear leaves, whose mean prediction replaces the targets."""

import numpy as np
from scipy import sparse

from ngdt._core.structure import complete_children
from ngdt._core.tree import Tree
from ngdt._methods.random.random_complete import random_planes
from ngdt._util.stopped import Stopped

_DEPTH = 4
# Number of synthetic samples per training sample, share of the features that one has from another
# sample, and its weight in units of that of the sample. Without them, single samples reached leaves
# whose values were off by the whole range of the targets, where the teachers were right.
_N_COPIES, _SWAPPED, _SYNTHETIC_WEIGHT = 5, 0.2, 0.25
# Largest number of synthetic samples, and of their values.
_MAX_SYNTHETIC, _MAX_SYNTHETIC_VALUES = 40_000, 10_000_000
# Share of the work, and of the time until the deadline, for the teachers.
TEACHERS_WORK = 0.5


def taught_problem(problem, optimizers, n_teachers):
    """The problem with targets without most of their noise, and with synthetic samples.

    Each teacher is a random complete tree of its own that is trained by the optimizers.

    Parameters
    ----------
    problem : Problem
    optimizers : sequence of Optimizer
    n_teachers : int

    Returns
    -------
    Problem
        The target of a training sample is the mean of what the teachers predict, within the range
        of the targets. Synthetic samples follow the given ones. Samples that are not trained on
        keep their targets.
    """
    random = np.random.RandomState(problem.random_state)
    extended = _with_synthetic(problem, random)
    samples = extended.training_samples
    part = problem.replace(
        validation_weight=None, control=problem.control.quiet().unstored())
    y = problem.y[problem.training_samples]
    total, low, high = 0.0, y.min(axis=0), y.max(axis=0)
    for number in range(n_teachers):
        one = part.replace(random_state=random.randint(2**31)).with_time(
            1.0 / (n_teachers / TEACHERS_WORK - number)).doing(
                TEACHERS_WORK / n_teachers, f"teacher {number + 1} of {n_teachers}")
        tree = _trained(_random_tree(one, random), one, optimizers)
        total = total + np.clip(extended.predictions(tree, samples), low, high)
    y = extended.y.copy()
    y[samples] = total / n_teachers
    return extended.replace(y=y)


def _trained(tree, problem, optimizers):
    """The tree that the optimizers make of a tree."""
    try:
        for optimizer in optimizers:
            tree = optimizer.optimize(tree, problem.doing(1.0 / len(optimizers))).tree
    except Stopped as stopped:      # the tree of a teacher is none of the result
        raise KeyboardInterrupt from stopped
    return tree


def _with_synthetic(problem, random):
    """The problem with synthetic samples: training samples with features of others.

    They have the targets of the training samples. Sparse data and many samples get none.
    """
    samples, p = problem.training_samples, problem.X.shape[1]
    varying = problem.varying
    limit = min(_MAX_SYNTHETIC, _MAX_SYNTHETIC_VALUES // p)
    copies = min(_N_COPIES, limit // len(samples))
    if copies == 0 or sparse.issparse(problem.X):
        return problem
    parts = [problem.X]
    for _ in range(copies):
        swapped = np.zeros((len(samples), p), bool)
        swapped[:, varying] = random.random_sample((len(samples), len(varying))) < _SWAPPED
        parts.append(np.where(
            swapped, problem.X[random.permutation(samples)], problem.X[samples]))
    n, validation = problem.X.shape[0], problem.validation_weight
    origin = np.concatenate([np.arange(n), *[samples] * copies])
    weight = problem.sample_weight[origin]
    weight[n:] *= _SYNTHETIC_WEIGHT
    return problem.replace(
        X=np.concatenate(parts), y=problem.y[origin], sample_weight=weight,
        validation_weight=None if validation is None else validation[origin],
        groups=None if problem.groups is None else problem.groups[origin])


def _random_tree(problem, random):
    """A complete tree of random splits, whose leaves are those of least loss."""
    planes = random_planes(problem, random, 2**_DEPTH - 1)
    weights, thresholds = problem.scaling.to_raw(planes[:, :-1], -planes[:, -1])
    values = np.zeros((2**_DEPTH, problem.n_outputs))
    tree = Tree(weights, thresholds, *complete_children(_DEPTH), values)
    return problem.refit_leaves(tree)
