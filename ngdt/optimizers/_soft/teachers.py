"""Teachers: softly routed trees with linear leaves, whose mean prediction replaces the targets."""

import numpy as np
from scipy import sparse

from ngdt._checkpoint import NO_CHECKPOINT
from ngdt._structure import complete_children, reach_probabilities
from ngdt._tree import Tree
from ngdt.optimizers._soft.run import SoftRun, unit_weight
from ngdt.optimizers._threads import one_blas_thread

_DEPTH = 3
# Number of synthetic samples per training sample, share of the features that one has from another
# sample, and its weight in units of that of the sample. Without them, single samples reached leaves
# whose values were off by the whole range of the targets, where the teachers were right.
_N_COPIES, _SWAPPED, _SYNTHETIC_WEIGHT = 2, 0.2, 0.25
# Largest number of synthetic samples, and of their values.
_MAX_SYNTHETIC, _MAX_SYNTHETIC_VALUES = 40_000, 10_000_000
# Share of the work, and of the time until the deadline, for the teachers.
TEACHERS_WORK = 0.5
# Number of values of X that are read at a time.
_BLOCK_VALUES = 2**18


def taught_problem(problem, teacher, n_teachers):
    """The problem with targets without most of their noise, and with synthetic samples.

    Each teacher is a random complete tree of depth 3 of its own. Ctrl-C and the deadline leave the
    teachers that are trained by then.

    Parameters
    ----------
    problem : Problem
    teacher : Annealed
        With linear leaves.
    n_teachers : int

    Returns
    -------
    taught : Problem
        The target of a training sample is the mean of what the teachers predict, within the range
        of the targets. Synthetic samples follow the given ones. Samples that are not trained on
        keep their targets.
    interrupted : bool
        Whether Ctrl-C ended the training of a teacher.
    """
    random = np.random.RandomState(problem.random_state)
    extended, n = _with_synthetic(problem, random), problem.X.shape[0]
    samples = extended.training_samples
    weight = extended.sample_weight.copy()
    weight[n:] = 0.0
    part = extended.replace(
        sample_weight=weight, validation_weight=None, verbose=0, callback=None,
        checkpoint=NO_CHECKPOINT)
    y = problem.y[problem.training_samples]
    total, low, high = 0.0, y.min(axis=0), y.max(axis=0)
    for number in range(n_teachers):
        one = part.replace(random_state=random.randint(2**31)).with_time(
            1.0 / (n_teachers / TEACHERS_WORK - number)).doing(
                TEACHERS_WORK / n_teachers, f"teacher {number + 1} of {n_teachers}")
        with one_blas_thread:
            run = SoftRun(
                teacher, _random_tree(one, random), one, one.training_samples, unit_weight(one),
                False)
            run.train()
        total = total + np.clip(soft_predictions(run, samples), low, high)
        if run.progress.interrupted:
            break
    y = extended.y.copy()
    y[samples] = total / (number + 1)
    return extended.replace(y=y), run.progress.interrupted


def _with_synthetic(problem, random):
    """The problem with synthetic samples: training samples with features of others.

    They have the targets of the training samples. Sparse data and many samples get none.
    """
    samples, p = problem.training_samples, problem.X.shape[1]
    limit = min(_MAX_SYNTHETIC, _MAX_SYNTHETIC_VALUES // p)
    copies = min(_N_COPIES, limit // len(samples))
    if copies == 0 or sparse.issparse(problem.X):
        return problem
    parts = [problem.X]
    for _ in range(copies):
        swapped = random.random_sample((len(samples), p)) < _SWAPPED
        parts.append(np.where(
            swapped, problem.X[random.permutation(samples)], problem.X[samples]))
    n, validation = problem.X.shape[0], problem.validation_weight
    origin = np.concatenate([np.arange(n), *[samples] * copies])
    weight = problem.sample_weight[origin]
    weight[n:] *= _SYNTHETIC_WEIGHT
    return problem.replace(
        X=np.concatenate(parts), y=problem.y[origin], sample_weight=weight,
        validation_weight=None if validation is None else validation[origin])


def _random_tree(problem, random):
    """As `RandomComplete` makes it, with equal leaves."""
    m, p = 2**_DEPTH - 1, problem.X.shape[1]
    planes = random.normal(size=(m, p + 1))
    weights, thresholds = problem.scaling.to_raw(planes[:, :p], -planes[:, p])
    values = np.zeros((m + 1, problem.n_outputs))
    tree = Tree(weights, thresholds, *complete_children(_DEPTH), values)
    return problem.refit_leaves(tree)


def soft_predictions(run, samples):
    """Expected predictions of the leaves of a trained run, at its last steepness.

    Parameters
    ----------
    run : SoftRun
        With linear leaves.
    samples : ndarray of int

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
    """
    tree, X = run.tree, run.problem.X
    coefficients = run.model.parameters.astype(np.float64)
    out = np.empty((len(samples), tree.n_outputs))
    step = max(1, _BLOCK_VALUES // X.shape[1])
    for first in range(0, len(samples), step):
        block = slice(first, first + step)
        Z = run.scaling.transform(X[samples[block]])
        scores = Z @ run.weights[:, :-1].T.astype(np.float64) + run.weights[:, -1]
        reach = reach_probabilities(tree, scores, run.gamma)
        leaves = Z @ coefficients[:, :-1].T + coefficients[:, -1]
        out[block] = np.einsum(
            "bl,blt->bt", reach, leaves.reshape(*reach.shape, tree.n_outputs))
    return out
