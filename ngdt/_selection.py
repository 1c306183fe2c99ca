"""How a fit is put together: rows held out, a start grown, optimizers run, a winner chosen."""

from dataclasses import dataclass, field

import numpy as np

from ngdt._tree import Tree
from ngdt.problem import standard_errors_saved

# Below this many rows a tenth of them decides too little to be worth not training on.
AUTO_VALIDATION_SAMPLES = 2000
AUTO_VALIDATION_FRACTION = 0.1
# Below this many rows half of a tenth is too few to tell a gain of four points from luck, and to
# train a few times more takes seconds.
CROSS_VALIDATION_SAMPLES = 20_000
N_FOLDS = 3
# Standard errors by which training must win over its start.
MIN_GAIN_SE = 2.0
# Standard errors by which either must lead for the rest of the folds to be spared.
STOP_FOLDS_SE = 5.0
# Standard errors that no choice among epochs and subtrees brought about by luck: on labels with a
# quarter of noise it came to four.
SELECTION_BIAS_SE = 6.0


@dataclass(frozen=True)
class TrainingResult:
    """What `train` returns.

    Attributes
    ----------
    tree : Tree
        The winner.
    history : dict of lists
        One row per epoch of the whole chain. `step` names the optimizer; what one optimizer does
        not record is NaN in its rows.
    baseline_kept : bool
        Whether the start, or its baseline, won against what the optimizers made.
    interrupted : bool
        Whether Ctrl-C ended the chain early.
    """

    tree: Tree
    history: dict = field(default_factory=dict)
    baseline_kept: bool = False
    interrupted: bool = False


def hold_out(weight, fraction, labels, seed):
    """Split the rows, as weights, into those to train on and those to validate on.

    Parameters
    ----------
    weight : ndarray of shape (n_samples,)
        Rows of weight zero count as absent.
    fraction : float, "auto" or None
        Share of the rows to hold out. "auto" holds out a tenth from `AUTO_VALIDATION_SAMPLES` rows on.
    labels : ndarray of int, shape (n_samples,), or None
        Strata. Each gives up its share rounded down, so that a rare class stays in training.
    seed : int

    Returns
    -------
    training, validation : ndarray of shape (n_samples,)
        They add up to `weight`. `validation` is None where no row was held out.
    """
    present = np.flatnonzero(weight)
    if fraction == "auto":
        fraction = AUTO_VALIDATION_FRACTION if len(present) >= AUTO_VALIDATION_SAMPLES else 0
    if not fraction:
        return weight, None
    shuffled = np.random.default_rng(seed).permutation(present)
    stratum = np.zeros(len(shuffled), np.intp) if labels is None else labels[shuffled]
    order = np.argsort(stratum, kind="stable")
    sizes = np.bincount(stratum)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    held = shuffled[order][rank < np.repeat((sizes * fraction).astype(np.intp), sizes)]
    if len(held) == 0:
        return weight, None
    validation = np.zeros_like(weight)
    validation[held] = weight[held]
    return weight - validation, validation


def train(problem, init, steps, *, baseline=None, cross_validate=False):
    """Grow a start, run the optimizers on it in order, and choose between it and the result.

    The start stays a candidate, or a greedy tree does instead: on rows that neither was trained on,
    the trained tree has to save more errors than two standard errors of the paired difference. Samples
    that chose epochs and subtrees flatter the result, so they count only where the gain is beyond
    that; else either half of the held-out rows are kept back, or folds decide. A candidate that
    wins is grown anew on all rows; a given tree does not compete.

    Parameters
    ----------
    problem : Problem
    init : Initializer or Tree
    steps : list of Optimizer
    baseline : Initializer or None
        What competes with the result; None: the start.
    cross_validate : bool, default=False
        Whether folds decide, where the rows are too few for half of the held-out ones to tell.

    Returns
    -------
    TrainingResult
    """
    baseline = init if baseline is None else baseline
    # A given tree may have been fitted on these very rows, which would flatter it.
    competes = bool(steps) and not isinstance(baseline, Tree)
    # Folds are drawn row by row, so steps that do not depend on a draw are spared them.
    folds = competes and cross_validate and any(step.is_stochastic for step in steps)
    choosing = judging = problem.validation_weight
    if competes and not folds and problem.validation_weight is not None:
        strata = problem.y[:, 0].astype(np.intp) if problem.loss.is_classifier else None
        choosing, judging = hold_out(problem.validation_weight, 0.5, strata, problem.random_state)
    judged = competes and judging is not None
    start, tree, history, interrupted = _run(
        problem.replace(validation_weight=choosing), init, steps, baseline if judged else init)
    trained = TrainingResult(tree, history, False, interrupted)
    if interrupted or not competes:
        return trained
    gain = np.inf if judging is None else _gain_on(judging, problem, start, tree)
    # Flattered and still behind: no need to ask the folds.
    if folds and (judging is None or 0 < gain <= SELECTION_BIAS_SE):
        gain, interrupted = _cross_validated_gain(problem, init, steps, baseline)
        if interrupted:
            return TrainingResult(tree, history, False, interrupted)
    return trained if gain > MIN_GAIN_SE else _kept(problem, baseline, history, interrupted)


def _gain_on(weight, problem, start, tree):
    rows = np.flatnonzero(weight)
    return standard_errors_saved(*_errors(problem, rows, weight[rows], start, tree))


def _kept(problem, baseline, history, interrupted):
    """The baseline, grown on all rows."""
    return TrainingResult(_start(_with_all_rows(problem), baseline), history, True, interrupted)


def _with_all_rows(problem):
    if problem.validation_weight is None:
        return problem
    return problem.replace(sample_weight=problem.sample_weight + problem.validation_weight, validation_weight=None)


def _run(problem, init, steps, baseline):
    """The baseline, what the optimizers made of the start, their history, and whether Ctrl-C came."""
    for step in steps:
        step.check(problem)
    start = tree = _start(problem, init)
    against = start if baseline is init else _start(problem, baseline)
    history = {name: [] for name in ("step", *(name for step in steps for name in step.metrics))}
    interrupted = False
    for number, step in enumerate(steps):
        seeded = problem.replace(random_state=(problem.random_state + number) % 2**31)
        tree, record = step.optimize(tree, seeded)
        interrupted = bool(record.pop("interrupted", False))
        _append(history, type(step).__name__, record)
        if interrupted:
            break
    return against, tree, history, interrupted


def _start(problem, init):
    return init if isinstance(init, Tree) else init.initialize(problem)


def _cross_validated_gain(problem, init, steps, baseline):
    """What training gains over the baseline in standard errors, each row predicted by trees that
    were trained without it; and whether Ctrl-C came before that was known."""
    weight = _with_all_rows(problem).sample_weight
    rows = np.flatnonzero(weight)
    if len(rows) < 2 * N_FOLDS:
        return np.inf, False    # nothing to decide by: do as asked
    fold = np.random.default_rng(problem.random_state).permutation(len(rows)) % N_FOLDS
    errors = np.empty((2, len(rows)))
    for number in range(N_FOLDS):
        held = rows[fold == number]
        start, tree, _, interrupted = _run(_without(problem, held), init, steps, baseline)
        if interrupted:
            return np.nan, True
        errors[:, fold == number] = _errors(problem, held, weight[held], start, tree)
        gain = standard_errors_saved(*errors[:, fold <= number])
        if abs(gain) > STOP_FOLDS_SE:
            break
    return gain, False


def _without(problem, held):
    """The problem without some of its rows, and in silence."""
    weights = [
        None if weight is None else np.where(np.isin(np.arange(len(weight)), held), 0.0, weight)
        for weight in (problem.sample_weight, problem.validation_weight)]
    return problem.replace(
        sample_weight=weights[0], validation_weight=weights[1], verbose=0, callback=None)


def _errors(problem, rows, weight, start, tree):
    """Errors of both trees on the given rows, times their weights."""
    samples = rows.astype(np.int32)
    return [
        weight * problem.errors(candidate.values[candidate._apply_at(problem.data, samples)], rows)
        for candidate in (start, tree)]


def _append(history, step, record):
    """Add the rows of one optimizer, keeping every column of the table at one length."""
    rows = max((len(column) for column in record.values()), default=0)
    before = len(history["step"])
    for name in record:
        history.setdefault(name, [np.nan] * before)
    for name, column in history.items():
        column += [step] * rows if name == "step" else record.get(name, [np.nan] * rows)
