"""Time of a fit and a prediction; and the best of some candidates on validation samples."""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import clone

from benchmarks.data import hold_out


@dataclass(frozen=True)
class Fit:
    """A fitted model, and what its fit cost."""

    model: object
    seconds: float

    @classmethod
    def of(cls, model, X, y):
        begin = time.process_time()
        model = clone(model).fit(X, y)
        return cls(model, time.process_time() - begin)


def seconds_of(call, clock=time.process_time):
    """CPU time, which other programs disturb less than wall time."""
    begin = clock()
    call()
    return clock() - begin


def latency(predict, X, calls=30):
    """Median CPU seconds of a prediction for one row of an array or a data frame."""
    numbers, rows = np.arange(calls) % len(X), getattr(X, "iloc", X)
    return float(np.median([seconds_of(partial(predict, rows[[i]])) for i in numbers]))


def chosen(candidates, X, y, seed):
    """Name, model and validation score of the best candidate, and the seconds of the search.

    Parameters
    ----------
    candidates : dict of str to estimator
        A single one is not compared, and has no validation score.
    """
    if len(candidates) == 1:
        return *next(iter(candidates.items())), float("nan"), 0.0
    X, y, X_val, y_val = hold_out(X, y, seed)
    fits = {name: Fit.of(model, X, y) for name, model in candidates.items()}
    scores = {name: fit.model.score(X_val, y_val) for name, fit in fits.items()}
    best = max(scores, key=scores.get)
    return best, candidates[best], 100 * scores[best], sum(fit.seconds for fit in fits.values())


FIELDS = ("n_candidates", "chosen", "train", "validation", "test", "seconds", "search_seconds",
          "leaves", "nonzeros", "n_train")


def result(candidates, data, seed):
    """The row of a method: accuracies in per cent, processor seconds on one thread.

    Parameters
    ----------
    candidates : dict of str to estimator
    data : tuple
        X, y, X_test, y_test. The test samples are used once, for the chosen candidate.
    seed : int
        Of the split into training and validation samples.
    """
    X, y, X_test, y_test = data
    name, model, validation, search_seconds = chosen(candidates, X, y, seed)
    fit = Fit.of(model, X, y)
    tree = fit.model.tree_
    return {
        "n_candidates": len(candidates), "chosen": name, "train": 100 * fit.model.score(X, y),
        "validation": validation, "test": 100 * fit.model.score(X_test, y_test),
        "seconds": fit.seconds, "search_seconds": search_seconds, "leaves": tree.n_leaves,
        "nonzeros": int(np.count_nonzero(tree.densify().weights)), "n_train": len(y)}
