"""Problems of some of the samples, where all of them would take too long."""

import numpy as np

from ngdt._folds import hold_out, strata_of

# A fit reads X, or routes its samples, about this often. With less time, fewer samples are used.
N_READINGS = 20
# Number of samples that are used in any case, if there are as many.
MIN_SAMPLES = 2000


def draw(problem, n_drawn):
    """The problem of some of its training samples, of each class the same share.

    Parameters
    ----------
    problem : Problem
        Without validation samples.
    n_drawn : int

    Returns
    -------
    Problem
        The problem itself if it has no more samples.
    """
    n_samples = len(problem.training_samples)
    if n_samples <= n_drawn:
        return problem
    _, drawn = hold_out(
        problem.sample_weight, n_drawn / n_samples, strata_of(problem), problem.random_state)
    samples = np.flatnonzero(drawn)
    return problem.replace(
        X=problem.X[samples], y=problem.y[samples], sample_weight=problem.sample_weight[samples])


def draw_in_time(problem, seconds_per_sample):
    """The problem, or one of as many samples as can be trained on until the deadline.

    Parameters
    ----------
    problem : Problem
    seconds_per_sample : float
        That it takes to read the data.

    Returns
    -------
    Problem
    """
    n_samples = len(problem.training_samples)
    needed = N_READINGS * seconds_per_sample * n_samples
    if problem.deadline.fits(needed):
        return problem
    return draw(problem, max(MIN_SAMPLES, int(n_samples * problem.deadline.left / needed)))
