"""Problems of some of the samples, where all of them would take too long."""

from dataclasses import replace
from time import monotonic

import numpy as np

from ngdt._core.scaling import Moments
from ngdt._selection import policy
from ngdt._training.folds import hold_out, problem_of, strata_of


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
    return problem_of(problem, np.flatnonzero(drawn))


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
    needed = policy.N_READINGS * seconds_per_sample * n_samples
    deadline = problem.control.deadline
    if deadline.fits(needed):
        return problem
    return draw(problem, max(policy.MIN_SAMPLES, int(n_samples * deadline.left / needed)))


def training_in_time(problem):
    """The problem of a fit: its samples, and its deadline, are those that there is time for.

    What follows reads only these samples, so that only the check and the encoding of the data take
    time that does not depend on the deadline.

    Parameters
    ----------
    problem : Problem
        With the deadline of the fit.

    Returns
    -------
    problem : Problem
        Its deadline leaves time to choose, prune and describe a tree.
    seconds_per_sample : float
        That it takes to read the data; 0 without a deadline.
    """
    if not problem.control.deadline.is_set:
        return problem, 0.0
    seconds = _reading_time(problem)
    drawn = draw_in_time(problem, seconds)
    seconds_after = policy.READINGS_AFTER * seconds * len(drawn.training_samples)
    deadline = problem.control.deadline.earlier(seconds_after)
    return drawn.replace(control=replace(problem.control, deadline=deadline)), seconds


def _reading_time(problem):
    """Seconds per sample of a reading: of the moments, which take three passes, of some samples."""
    samples = problem.training_samples
    samples = samples[::-(-len(samples) // policy.MIN_SAMPLES)]
    X, sample_weight, begin = problem.X[samples], problem.sample_weight[samples], monotonic()
    Moments.of(X, sample_weight)
    return (monotonic() - begin) / len(samples)
