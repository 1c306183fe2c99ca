"""Smooth targets: what several softly routed trees with linear leaves predict together."""

import numpy as np

from ngdt._structure import complete_children, reach_probabilities
from ngdt._tree import Tree
from ngdt.optimizers._soft.run import SoftRun, unit_weight

_DEPTH = 3
# Number of values of X that are read at a time.
_BLOCK_VALUES = 2**18


def smooth_targets(optimizer, problem, n_teachers):
    """Targets of the training samples without most of their noise.

    Each teacher is a random complete tree of depth 3, trained on a bootstrap sample. Ctrl-C and the
    deadline leave the teachers that are trained by then.

    Parameters
    ----------
    optimizer : Annealed
        With linear leaves.
    problem : Problem
    n_teachers : int

    Returns
    -------
    ndarray of float64, shape of ``problem.y``
        The mean of the predictions of the teachers, within the range of the targets. Samples that
        are not trained on keep their targets.
    """
    samples = problem.training_samples
    random = np.random.RandomState(problem.random_state)
    total, low, high = 0.0, problem.y[samples].min(axis=0), problem.y[samples].max(axis=0)
    for number in range(n_teachers):
        counts = np.bincount(
            random.randint(len(samples), size=len(samples)), minlength=len(samples))
        weight = problem.sample_weight.copy()
        weight[samples] *= counts
        part = problem.replace(
            sample_weight=weight, validation_weight=None, random_state=random.randint(2**31),
            verbose=0, callback=None).with_time(1.0 / (n_teachers + 1 - number)).doing(
                1.0 / (n_teachers + 1), f"teacher {number + 1} of {n_teachers}")
        run = SoftRun(
            optimizer, _random_tree(part, random), part, part.training_samples, unit_weight(part),
            False)
        run.train()
        total = total + np.clip(soft_predictions(run, samples), low, high)
        if run.progress.interrupted:
            break
    y = problem.y.copy()
    y[samples] = total / (number + 1)
    return y


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
