"""Samples that there is time for: of a fit, and of a comparison."""

from dataclasses import replace
from time import monotonic

import numpy as np

from ngdt._core.scaling import Moments
from ngdt._selection import policy
from ngdt._training.folds import fold_samples, held_out_of, hold_out, problem_of, strata_of


def draw(problem, n_drawn):
    """The problem of some of its training samples, the same share of each class.

    It has no validation samples but those that are given apart. It is returned itself if it has no
    more samples.

    Returns
    -------
    problem : Problem
    drawn : ndarray of int, or None
        Indices of the samples, ascending; None for all.
    """
    n_samples = len(problem.training_samples)
    if n_samples <= n_drawn:
        return problem, None
    _, drawn = hold_out(
        problem.sample_weight, n_drawn / n_samples, strata_of(problem), problem.random_state)
    samples = np.union1d(np.flatnonzero(drawn), problem.validation_samples)
    return problem_of(problem, samples), samples


def unit_of_weights(problem):
    """The weight that counts as one sample: 1, or the mean of small weights, as of a sum of 1."""
    mean = problem.sample_weight[problem.sample_weight > 0].mean()
    return 1.0 if mean > 1.0 - 1e-6 else mean   # balanced weights have a mean of 1 but for rounding


def number_in_time(problem, seconds_per_sample, share=1.0):
    """Number of training samples, or of all, that can be trained on in a share of the time.

    It takes so many seconds per sample to read the data.
    """
    n_samples = len(problem.training_samples)
    needed = policy.N_READINGS * seconds_per_sample * n_samples
    deadline = problem.control.deadline.share(share)
    return n_samples if deadline.fits(needed) else max(
        policy.MIN_SAMPLES, int(n_samples * deadline.left / needed))


def training_in_time(problem):
    """The problem of a fit, of samples that there is time for, and the seconds to read one of them.

    What follows reads only these samples, so that only the check and the encoding of the data take
    time that does not depend on the deadline. The deadline of the result leaves time to choose,
    prune and describe a tree. Without a deadline, the seconds are 0.

    Returns
    -------
    problem : Problem
    seconds : float
    drawn : ndarray of int, or None
        Indices of the samples, ascending; None for all.
    """
    if not problem.control.deadline.is_set:
        return problem, 0.0, None
    # A reading takes as long as the moments, which are three passes, of some samples.
    samples = problem.training_samples
    samples = samples[::-(-len(samples) // policy.MIN_SAMPLES)]
    X, sample_weight, begin = problem.X[samples], problem.sample_weight[samples], monotonic()
    Moments.of(X, sample_weight)
    seconds = (monotonic() - begin) / len(samples)
    problem, drawn = draw(problem, number_in_time(problem, seconds))
    seconds_after = policy.READINGS_AFTER * seconds * len(problem.training_samples)
    deadline = problem.control.deadline.earlier(seconds_after)
    return problem.replace(control=replace(problem.control, deadline=deadline)), seconds, drawn


def most_to_compare_on(problem):
    """Largest number of samples of a comparison without a deadline."""
    return np.clip(policy.MAX_DRAWN_VALUES // problem.X.shape[1],
                   policy.MIN_DRAWN_SAMPLES, policy.MAX_DRAWN_SAMPLES)


def sample_to_compare_on(problem, seconds_per_sample):
    """The problem, or one of some of its samples where a comparison on all would take too long."""
    sample, _ = draw(problem, most_to_compare_on(problem))
    return draw(sample, number_in_time(sample, seconds_per_sample, policy.COMPARISON_TIME))[0]


def fold_samples_of(problem, fraction):
    """Test samples of each fold: "auto" as `fold_samples`, or one fold of a share, or of none."""
    if fraction == "auto" or problem.own_validation:
        return fold_samples(problem)
    _, validation = held_out_of(problem, fraction)
    return [] if validation is None else [np.flatnonzero(validation).astype(np.int32)]
