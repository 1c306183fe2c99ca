"""The result of a training."""

from dataclasses import dataclass, field

import numpy as np

from ngdt._core.tree import Tree


@dataclass(frozen=True)
class TrainingResult:
    """Result of a training that may have had several steps.

    Attributes
    ----------
    tree : Tree
        The chosen tree, within the limits of the problem.
    history : dict of lists
        One entry per epoch of all optimizers. `optimizer` is the name of the optimizer. Metrics
        that it does not record are NaN.
    baseline_kept : bool
        Whether the baseline was chosen over the trained tree.
    candidates : dict of lists
        One entry per tree that was compared.
    """

    tree: Tree
    history: dict = field(default_factory=dict)
    baseline_kept: bool = False
    candidates: dict = field(default_factory=dict)


def empty_history(optimizers):
    """A history with the columns of all optimizers."""
    return {name: [] for name in (
        "optimizer", *(name for optimizer in optimizers for name in optimizer.metrics))}


def history_of(optimizer, metrics):
    """The history of a training by one optimizer or none, from the metrics of its epochs."""
    history = empty_history([] if optimizer is None else [optimizer])
    append_metrics(history, optimizer, metrics)
    return history


def append_metrics(history, optimizer, metrics):
    """Add the epochs of one optimizer to the history; all columns keep the same length.

    Parameters
    ----------
    history : dict of lists
        Changed in place.
    optimizer : Optimizer or None
        None has no metrics.
    metrics : dict of lists
    """
    n_epochs = max((len(column) for column in metrics.values()), default=0)
    before = len(history["optimizer"])
    for name in metrics:
        history.setdefault(name, [np.nan] * before)
    for name, column in history.items():
        column += [type(optimizer).__name__] * n_epochs if name == "optimizer" else (
            metrics.get(name, [np.nan] * n_epochs))
