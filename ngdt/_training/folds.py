"""Training, validation and test samples, folds, and the comparison of errors on them."""

import numpy as np

# Number of samples from which "auto" uses a tenth for validation. A tenth of fewer samples is too
# small to choose by, and better used for training.
AUTO_VALIDATION_SAMPLES = 2000
AUTO_VALIDATION_FRACTION = 0.1
# Number of samples from which a third that is held out replaces the folds: its errors tell enough.
HOLD_OUT_SAMPLES = 2000
N_FOLDS = 3
# Folds that choose the size of a greedy tree, and the numbers of samples from which, and below
# which, there are so many. With three or five folds it was up to four points less accurate, less
# often the more samples there were; of fewer samples, it was not.
N_PRUNING_FOLDS, MIN_PRUNING_SAMPLES, MAX_PRUNING_SAMPLES = 10, 1000, 20_000


def hold_out(sample_weight, fraction, labels, seed):
    """Split the samples, as weights, into training and validation samples.

    Parameters
    ----------
    sample_weight : ndarray of shape (n_samples,)
        Samples of weight zero are ignored.
    fraction : float, "auto" or None
        Share of the samples to validate on. "auto" is a tenth from `AUTO_VALIDATION_SAMPLES`
        samples on.
    labels : ndarray of int, shape (n_samples,), or None
        Strata. The number of validation samples of each is rounded down, so that a rare class stays
        in training.
    seed : int

    Returns
    -------
    training, validation : ndarray of shape (n_samples,)
        Weights that add up to `sample_weight`. `validation` is None if there are no validation
        samples.
    """
    present = np.flatnonzero(sample_weight)
    if fraction == "auto":
        fraction = AUTO_VALIDATION_FRACTION if len(present) >= AUTO_VALIDATION_SAMPLES else 0
    if not fraction:
        return sample_weight, None
    shuffled, rank, size = _shuffled(present, labels, seed)
    samples = shuffled[rank < (size * fraction).astype(np.intp)]
    if len(samples) == 0:
        return sample_weight, None
    validation = np.zeros_like(sample_weight)
    validation[samples] = sample_weight[samples]
    return sample_weight - validation, validation


def strata_of(problem):
    """Class of each sample, by which samples are divided; None for regression.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    ndarray of int, shape (n_samples,), or None
    """
    return problem.y[:, 0].astype(np.intp) if problem.loss.is_classifier else None


def problem_without(problem, samples):
    """The problem without some of its training and validation samples.

    Parameters
    ----------
    problem : Problem
    samples : ndarray of int

    Returns
    -------
    Problem
    """
    def without(weight):
        if weight is None:
            return None
        weight = weight.copy()
        weight[samples] = 0.0
        return weight

    return problem.replace(
        sample_weight=without(problem.sample_weight),
        validation_weight=without(problem.validation_weight))


def problem_of(problem, samples, scaling=None):
    """The problem of some samples, which are copied.

    Parameters
    ----------
    problem : Problem
    samples : ndarray of int
    scaling : Scaling, default=None
        None measures it on these samples.

    Returns
    -------
    Problem
    """
    arrays = {name: getattr(problem, name) for name in (
        "X", "y", "sample_weight", "validation_weight")}
    found = problem.replace(**{
        name: array[samples] for name, array in arrays.items() if array is not None})
    return found if scaling is None else found.knowing(scaling=scaling)


def problem_with_moments(problem, moments):
    """The problem with the moments of more samples; the scaling follows from them.

    Parameters
    ----------
    problem : Problem
    moments : Moments

    Returns
    -------
    Problem
    """
    return problem.replace(sample_weight=problem.sample_weight).knowing(moments=moments)


def fold_samples(problem):
    """Test samples of each fold: of `N_FOLDS` folds, or of one if there are many samples.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    list of ndarray of int32
        Stratified for classification. Empty if there are fewer than two samples per fold.
    """
    n_samples = len(problem.training_samples)
    if n_samples < 2 * N_FOLDS:
        return []
    folds = _divided(problem, N_FOLDS)
    return folds[:1] if n_samples >= HOLD_OUT_SAMPLES else folds


def pruning_folds(problem):
    """Test samples of each fold by which the size of a greedy tree is chosen.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    list of ndarray of int32
        As `fold_samples` or, of a moderate number of samples, of more folds.
    """
    n_samples = len(problem.training_samples)
    if MIN_PRUNING_SAMPLES <= n_samples < MAX_PRUNING_SAMPLES:
        return _divided(problem, N_PRUNING_FOLDS)
    return fold_samples(problem)


def _divided(problem, n_folds):
    shuffled, rank, _ = _shuffled(
        problem.training_samples, strata_of(problem), problem.random_state)
    fold = rank % n_folds
    if len(np.unique(fold)) < n_folds:      # every class has fewer samples than there are folds
        fold = np.arange(len(shuffled)) % n_folds
    return [np.sort(shuffled[fold == k]).astype(np.int32) for k in range(n_folds)]


def _shuffled(samples, labels, seed):
    """Samples in random order, stratum by stratum, with their ranks in it and its size."""
    shuffled = np.random.default_rng(seed).permutation(samples)
    stratum = np.zeros(len(shuffled), np.intp) if labels is None else labels[shuffled]
    order = np.argsort(stratum, kind="stable")
    sizes = np.bincount(stratum)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return shuffled[order], rank, np.repeat(sizes, sizes)
