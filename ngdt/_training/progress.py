"""Progress of an optimizer: its epochs, the end by a deadline or Ctrl-C, and its result."""

from dataclasses import dataclass, field

import numpy as np

from ngdt._core.tree import Tree
from ngdt._util.stopped import Stopped


@dataclass(frozen=True)
class OptimizerResult:
    """Result of `Optimizer.optimize`.

    Attributes
    ----------
    tree : Tree
        The trained tree.
    history : dict of str to list
        One entry per epoch for each of the optimizer's `metrics`; empty if there was no epoch.
    converged : bool
        Whether training ended by its stopping rule, before the largest number of epochs.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.optimizers import OptimizerResult
    >>> result = OptimizerResult(Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]]))
    >>> result.tree.n_leaves, result.history
    (2, {})
    """

    tree: Tree
    history: dict = field(default_factory=dict)
    converged: bool = False


class _OutOfTime(Exception):
    """Ends a block of `Progress.until_interrupted` at the deadline."""


class Progress:
    """Records, prints and reports the metrics of a training run; handles Ctrl-C and the deadline.

    Parameters
    ----------
    optimizer : Optimizer
    problem : Problem
    epochs : int
        Largest number of epochs.

    Attributes
    ----------
    history : dict of str to list
        As in `OptimizerResult`.
    interrupted : bool
        Whether Ctrl-C ended the block of `until_interrupted`.
    control : Control
        Of the run, to say how much is done within an epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import Problem, Tree
    >>> from ngdt.losses import SquaredLoss
    >>> from ngdt.optimizers import ShrinkLeaves, Progress
    >>> tree, X, y = Tree([[1.0]], [0.5], [~0], [~1], [[0], [1]]), np.eye(1), np.eye(1)
    >>> problem = Problem(X, y, SquaredLoss(), n_outputs=1, sample_weight=np.ones(1))
    >>> progress = Progress(ShrinkLeaves(), problem, epochs=3)
    >>> with progress.until_interrupted():
    ...     raise KeyboardInterrupt
    >>> progress.interrupted
    True
    """

    def __init__(self, optimizer, problem, epochs):
        self.history = {name: [] for name in optimizer.metrics}
        self.interrupted = False
        self._optimizer = type(optimizer).__name__
        self._epoch, self._epochs = 0, epochs
        self.control = problem.control.part(1.0, optimizer.phase or self._optimizer)
        self._in_block = False
        self._run = self.control.checkpoint.next_run()

    def resume(self, restore):
        """Go on with the run of a process that was killed, if there is a checkpoint of it.

        Parameters
        ----------
        restore : callable
            Takes the state that was given to `report`.

        Returns
        -------
        int
            Number of epochs that are done.
        """
        checkpoint = self.control.checkpoint
        kept = checkpoint.state_of(self._run)
        if kept is not None:
            with checkpoint.reading():
                restore(kept["state"])
                self.history = {name: list(kept["history"][name]) for name in self.history}
                self._epoch = int(kept["epoch"])
        return self._epoch

    def until_interrupted(self):
        """Context manager: Ctrl-C ends the block instead of raising KeyboardInterrupt.

        At the deadline of the problem, `report` and `look` end it.
        """
        return self     # a generator that Ctrl-C ends before it yields would raise a RuntimeError

    def __enter__(self):
        self._in_block = True

    def __exit__(self, kind, *_):
        self._in_block = False
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.interrupted = True
            return True
        return kind is _OutOfTime

    def look(self):
        """Look at the clock within a long epoch.

        If the deadline has passed, this ends the block of `until_interrupted`.
        """
        if self._in_block and not self.control.deadline.fits():
            raise _OutOfTime

    def report(self, metrics, state=None):
        """Add an epoch to the history, print its metrics, and call the callback.

        If the deadline has passed, this ends the block of `until_interrupted`.

        Parameters
        ----------
        metrics : dict of str to number
            Values of the optimizer's `metrics`; those that are not measured become NaN.
        state : callable, default=None
            Returns what a checkpoint has to hold so that the run can go on from here: a dict of
            arrays, numbers, trees, and lists and dicts of them.
        """
        unknown = metrics.keys() - self.history.keys()
        if unknown:
            raise ValueError(
                f"metrics of {self._optimizer} lacks {min(unknown)!r}, which was reported")
        self._epoch += 1
        metrics = {name: np.asarray(metric).item() for name, metric in (
            dict.fromkeys(self.history, np.nan) | metrics).items()}
        for name, metric in metrics.items():
            self.history[name].append(metric)
        self.control.activity.at(self._epoch / self._epochs)
        if self.control.verbose > 1:
            shown = "  ".join(
                f"{name} {metric}" if isinstance(metric, int) else f"{name} {metric:.4g}"
                for name, metric in metrics.items() if metric == metric)   # NaN: not measured
            print(f"[{self._optimizer}] epoch {self._epoch}/{self._epochs}  {shown}")
        if self.control.callback is not None:
            self.control.callback({
                "optimizer": self._optimizer, "epoch": self._epoch, "epochs": self._epochs,
                **metrics})
        checkpoint = self.control.checkpoint
        if self.control.deadline.is_stopped:    # by a callback, which another fit may not have
            checkpoint.end()
        # At the end, too: other runs may follow in the same step.
        if state is not None and (self._epoch == self._epochs or checkpoint.is_due):
            checkpoint.keep(self._run, {
                "epoch": self._epoch, "state": state(),
                "history": {name: list(column) for name, column in self.history.items()}})
        if self._epoch < self._epochs:
            self.look()

    def result(self, tree, *, converged=False):
        """The result of the run.

        Parameters
        ----------
        tree : Tree or callable
            A callable returns the tree. If Ctrl-C ends it, it is called again: the training that it
            brings to an end takes longer.
        converged : bool, default=False

        Returns
        -------
        OptimizerResult

        Raises
        ------
        Stopped
            If Ctrl-C ended the block of `until_interrupted`, or `tree`: a KeyboardInterrupt with
            the tree.
        """
        try:
            made = tree() if callable(tree) else tree
        except KeyboardInterrupt:
            self.interrupted = True
            made = tree()
        self.control.activity.finish()
        if self.interrupted:
            # Ctrl-C may have come between two metrics of an epoch.
            n_epochs = min(map(len, self.history.values()), default=0)
            history = {name: column[:n_epochs] for name, column in self.history.items()}
            raise Stopped(made, history)
        return OptimizerResult(made, self.history, converged)
