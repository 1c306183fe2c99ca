"""Callbacks of scikit-learn, which has them from version 1.9 on: the tasks of a `fit`."""

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:
    class CallbackSupportMixin:
        """Takes the place of the class that older versions lack."""


class FitTasks:
    """The task of a `fit`, its parts, and their steps, for the callbacks of scikit-learn.

    A part is the training by one optimizer, and its steps are epochs, or it is the training of
    trees of a forest. Without callbacks, nothing but the whole task is there.

    Parameters
    ----------
    estimator : ObliqueTree or ObliqueForest
    X, y, sample_weight
        The arguments of `fit`.
    """

    def __init__(self, estimator, X, y, sample_weight):
        self._estimator, self._open, self._step = estimator, [], ""
        self._arguments = {
            "X": X, "y": y,
            "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        self._is_watched = bool(getattr(estimator, "_skl_callbacks", ()))
        if hasattr(estimator, "_init_callback_context"):
            # How many parts there are is known only at the end.
            self._begin(estimator._init_callback_context(max_subtasks=None))

    def after_epoch(self, callback, deadline):
        """Make the function that a training calls after each epoch of an optimizer.

        Parameters
        ----------
        callback : callable or None
            The parameter of the estimator.
        deadline : Deadline
            It is stopped if a callback of scikit-learn asks for this.

        Returns
        -------
        callable or None
        """
        if not self._is_watched:
            return callback

        def report(metrics):
            if callback is not None:
                callback(metrics)
            # A checkpoint may have the first epochs.
            if metrics["epoch"] == 1 or len(self._open) == 1:
                self.begin_part(metrics["optimizer"], "epoch", metrics["epochs"])
            if self.step():
                deadline.stop()

        return report

    def begin_part(self, name, step, n_steps):
        """Begin a part, after the end of the one before.

        Parameters
        ----------
        name, step : str
            Names of the part and of its steps.
        n_steps : int
            Largest number of steps.
        """
        if self._is_watched and n_steps:
            self._end_part()
            self._begin(self._open[0].subcontext(task_name=name, max_subtasks=n_steps))
            self._step = step

    def step(self, attributes=None):
        """Say that a step has been done. Whether there is a next one is not known before it ends.

        Parameters
        ----------
        attributes : callable, default=None
            Returns the fitted attributes that the estimator would have if training ended here. None
            stands for a model that is not known.

        Returns
        -------
        bool
            Whether a callback asks for the end of the training.
        """
        if not self._is_watched:
            return False
        self._begin(self._open[1].subcontext(task_name=self._step))
        return self._end(attributes)

    def finish(self):
        """End the task. The estimator is fitted."""
        if self._open:
            self._end_part()
            self._end(dict)

    def _begin(self, task):
        self._open.append(task)
        task.call_on_fit_task_begin(estimator=self._estimator, **self._arguments)

    def _end(self, attributes=None):
        return self._open.pop().call_on_fit_task_end(
            estimator=self._estimator, **self._arguments, reconstruction_attributes=attributes)

    def _end_part(self):
        while len(self._open) > 1:
            self._end()
