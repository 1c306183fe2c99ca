"""One run of a `fit`: its time, its display, Ctrl-C, and what remains of it."""

import signal
import sys
import threading
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

from ngdt._estimators.checkpoint import with_checkpoint
from ngdt._estimators.display import watching
from ngdt._estimators.validation import NO_VALIDATION
from ngdt._selection.sample import training_in_time
from ngdt._training.control import Control, Deadline
from ngdt._training.far_targets import FarTargets, warn_of_far_targets
from ngdt._training.result import TrainingResult
from ngdt._util.stopped import Stopped
from ngdt._util.validation import warn

# Modules of scikit-learn that call `fit` once. Others do so in loops, such as searches and
# ensembles, which go on with the next model unless KeyboardInterrupt ends them.
_CALL_ONCE = ("sklearn.base", "sklearn.pipeline", "sklearn.compose", "sklearn.utils")


class Run:
    """One run of a `fit`; made by `running`.

    Attributes
    ----------
    control : Control
    problem : Problem
        The checked problem, once `begin` has been called.
    far_targets : FarTargets
        What training leaves out of the problem, once `begin` has been called.
    fitted : dict
        Fitted attributes that depend on X and y only.
    drawn : ndarray of int, or None
        Indices of the samples that there is time for, of those that are given; None for all.
    seconds_per_sample : float
        Time that it takes to read the data; 0 without a deadline.
    result : object
        Result of the training.
    interrupted, was_cut : bool
        Whether Ctrl-C was pressed, and whether the deadline has cut anything.
    cut : str or None
        Text of a warning, set at the end of a run that Ctrl-C or the deadline has cut.
    surprise : str or None
        Text of a warning of the tree that was trained.
    """

    def __init__(self, estimator, tasks):
        self.estimator, self.tasks = estimator, tasks
        self.problem = self.far_targets = self.result = self.cut = self.surprise = None
        self.fitted, self.drawn, self.seconds_per_sample = {}, None, 0.0
        self.interrupted = self.was_cut = False

    def begin(self, X, y, sample_weight, validation=NO_VALIDATION, *, resume, classes=None,
              checkpoint=None, before=None):
        """The problem of checked and encoded data.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        validation : Validation, default=NO_VALIDATION
        resume : bool
            Whether the encodings of a fitted estimator are kept.
        classes : ndarray, default=None
            All labels, where they are known.
        checkpoint : str, os.PathLike or None, default=None
        before : object, default=None
            What a warm start goes on from.

        Returns
        -------
        Problem
            Without far targets, which would rule splits, slopes and choices.
        """
        problem, self.fitted = self.estimator._checked_problem(
            X, y, sample_weight, resume, classes)
        problem = validation.added_to(problem, self.estimator, self.fitted, sample_weight)
        problem = with_checkpoint(
            problem.replace(control=self.control), self.estimator, checkpoint, before)
        self.control = problem.control
        problem, self.seconds_per_sample, self.drawn = training_in_time(problem)
        # Moments raise a ValueError for features whose range is too large.
        self.fitted["_table"] = self.fitted["_table"].with_means(problem.moments.mean)
        warn_of_far_targets(problem, self.fitted["_targets"])
        self.problem, self.far_targets = problem, FarTargets(problem, problem.near)
        return self.far_targets.near

    def warn(self):
        """Warn of the tree, and of what ended the training before its time, if there is reason."""
        if self.surprise is not None:
            warn(self.surprise)
        if self.cut is not None:
            warn(self.cut, ConvergenceWarning)


@contextmanager
def running(estimator, max_time=None, tasks=None):
    """Context manager: the run of a `fit`, at whose end the estimator gets its attributes.

    If the block fails, the estimator is as it was before. `Stopped` ends here: its tree is the
    result.

    Parameters
    ----------
    estimator : estimator
        Its `_set_fitted` takes the run and sets the fitted attributes. Its `_cut_message` takes
        whether Ctrl-C ended the training. Its `callback`, if it has one, is called after each
        epoch.
    max_time : float or None, default=None
        In seconds.
    tasks : FitTasks or None, default=None
        Told of epochs.

    Yields
    ------
    Run
    """
    run = Run(estimator, tasks)
    deadline, callback = Deadline.after(max_time), getattr(estimator, "callback", None)
    if tasks is not None:
        callback = tasks.after_epoch(callback, deadline)
    with unchanged_on_error(estimator), _CtrlC() as ctrl_c, watching(
            estimator.verbose) as activity:
        run.control = Control(
            deadline, activity, callback=callback, verbose=int(estimator.verbose))
        try:
            yield run
        except Stopped as stopped:
            run.interrupted = True
            run.result = TrainingResult(
                stopped.tree, stopped.history, stopped.baseline_kept, stopped.candidates)
        except BaseException:
            # With another parameter, as after an error that refuses one, it would be in the way.
            run.control.checkpoint.remove(only_empty=True)
            raise
        try:
            estimator._set_fitted(run)
        except KeyboardInterrupt:
            # The trees are trained, and the rest takes little time.
            run.interrupted = True
            estimator._set_fitted(run)
        if run.interrupted:
            ctrl_c.end()
        else:
            run.control.checkpoint.remove()
    if tasks is not None:
        tasks.finish()
    was_cut = (run.was_cut or deadline.has_cut) and not deadline.is_stopped
    if run.interrupted or was_cut:
        run.cut = estimator._cut_message(run.interrupted)


@contextmanager
def unchanged_on_error(estimator):
    """Context manager: if the block fails, the estimator is as it was before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class _CtrlC:
    """Context manager of a training: counts how often Ctrl-C is pressed.

    Algorithms turn KeyboardInterrupt into the best tree so far. A second one may come while they do
    that, and would be taken for the first.
    """

    def __init__(self):
        self._count, self._is_counted = 0, False

    def __enter__(self):
        # A handler of the program stays. Other threads may not set one, and get no signals.
        if (threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
            signal.signal(signal.SIGINT, self._press)
            self._is_counted = True
        return self

    def __exit__(self, *_):
        if self._is_counted:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _press(self, *_):
        self._count += 1
        raise KeyboardInterrupt

    def end(self):
        """Raise KeyboardInterrupt at the second time, and where a search is to be ended."""
        if self._count > 1 or _is_one_of_several():
            raise KeyboardInterrupt


def _is_one_of_several():
    """Return whether a search, a cross-validation or another ensemble has called `fit`.

    These have to end by Ctrl-C, and nothing but the stack tells of them.
    """
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(("sklearn.", "joblib.")) and not module.startswith(_CALL_ONCE):
            return True
        frame = frame.f_back
    return False
