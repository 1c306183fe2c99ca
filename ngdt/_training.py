"""How a fit is put together: rows held out, a start grown, optimizers run, a winner chosen."""

from dataclasses import dataclass, field

import numpy as np

from ngdt._tree import Tree

# Below this many rows a tenth of them decides too little to be worth not training on.
AUTO_VALIDATION_ROWS = 2000
AUTO_VALIDATION_FRACTION = 0.1


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
    kept_start : bool
        Whether the start won against what the optimizers made of it.
    interrupted : bool
        Whether Ctrl-C ended the chain early.
    """

    tree: Tree
    history: dict = field(default_factory=dict)
    kept_start: bool = False
    interrupted: bool = False


def hold_out(weight, fraction, labels, seed):
    """Split the rows, as weights, into those to train on and those to validate on.

    Parameters
    ----------
    weight : ndarray of shape (n_samples,)
        Rows of weight zero count as absent.
    fraction : float, "auto" or None
        Share of the rows to hold out. "auto" holds out a tenth from `AUTO_VALIDATION_ROWS` rows on.
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
        fraction = AUTO_VALIDATION_FRACTION if len(present) >= AUTO_VALIDATION_ROWS else 0
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


def train(problem, init, steps):
    """Grow a start and run the optimizers on it, in order.

    Parameters
    ----------
    problem : Problem
    init : Initializer or Tree
    steps : list of Optimizer

    Returns
    -------
    TrainingResult
    """
    start = _start(problem, init)
    for step in steps:
        step.check(start, problem.loss)
    tree, history, interrupted = start, {"step": []}, False
    for number, step in enumerate(steps):
        seeded = problem.with_(random_state=(problem.random_state + number) % 2**31)
        tree, record = step.improve(tree, seeded)
        interrupted = bool(record.pop("interrupted", False))
        _append(history, type(step).__name__, record)
        if interrupted:
            break
    if steps and _start_is_better(problem, start, tree):
        everything = problem.with_(weight=problem.weight + problem.validation, validation=None)
        return TrainingResult(_start(everything, init), history, True, interrupted)
    return TrainingResult(tree, history, False, interrupted)


def _start(problem, init):
    return init if isinstance(init, Tree) else init.grow(problem)


def _append(history, step, record):
    """Add the rows of one optimizer, keeping every column of the table at one length."""
    rows = max((len(column) for column in record.values()), default=0)
    before = len(history["step"])
    for name in record:
        history.setdefault(name, [np.nan] * before)
    for name, column in history.items():
        column += [step] * rows if name == "step" else record.get(name, [np.nan] * rows)


def _start_is_better(problem, start, tree):
    """Whether the start makes fewer errors than `tree` on the held-out rows."""
    if problem.validation is None:
        return False
    held = np.flatnonzero(problem.validation)
    X, weight = problem.X[held], problem.validation[held]
    error_of_start, error = (
        np.average(problem.errors(candidate.predict(X), held), weights=weight)
        for candidate in (start, tree))
    return error_of_start < error
