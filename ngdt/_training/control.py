"""Control of a training: its deadline, its display, and its checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from threading import Lock
from time import monotonic, time
from typing import Any

import numpy as np

# Share of the time left that a piece may take, and in which the time per step is measured; and the
# largest growth from piece to piece, since the first ones are short and slow.
_PIECE, _WINDOW, _GROWTH = 0.02, 0.05, 8
# Seconds of a piece, after which Ctrl-C is noticed and progress is shown.
_PIECE_SECONDS = 0.2
# Share of a run that rounding can explain.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Deadline:
    """A time by which an algorithm has to return the best tree so far.

    Parameters
    ----------
    end : float, default=inf
        In seconds of `time.monotonic`. Infinity stands for no deadline.

    Examples
    --------
    >>> from time import monotonic
    >>> deadline = Deadline(monotonic() + 60.0)
    >>> deadline.share(0.5).left <= 30.0
    True
    >>> deadline.share(0.5).fits(50.0), deadline.has_cut
    (False, True)
    >>> Deadline().left
    inf
    """

    end: float = inf
    # "cut" and "stopped", once they have happened. Shares of the time have the same set.
    _events: set = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """The deadline this time from now; None stands for no deadline."""
        return cls(inf if seconds is None else monotonic() + seconds)

    @property
    def is_set(self) -> bool:
        """True if there is a deadline."""
        return self.end < inf or self.is_stopped

    @property
    def is_stopped(self) -> bool:
        """True once `stop` has been called."""
        return "stopped" in self._events

    @property
    def left(self) -> float:
        """Seconds left; 0 from the deadline on."""
        return 0.0 if self.is_stopped else max(0.0, self.end - monotonic())

    @property
    def has_cut(self) -> bool:
        """True if anything did not fit."""
        return "cut" in self._events

    def fits(self, seconds: float = 0.0) -> bool:
        """Return whether more than this time is left. If not, this is noted for `has_cut`."""
        fits = self.left > seconds
        if not fits:
            self._events.add("cut")
        return fits

    def stop(self) -> None:
        """Let no time be left, from now on."""
        self._events.add("stopped")

    def share(self, share: float) -> "Deadline":
        """The deadline of an algorithm that has this share of the time left."""
        return replace(self, end=monotonic() + share * self.left) if self.is_set else self

    def earlier(self, seconds: float) -> "Deadline":
        """The deadline that leaves this time for something else."""
        return replace(self, end=self.end - seconds)

    def not_before(self, seconds: float) -> "Deadline":
        """The deadline of something that has this time in any case."""
        return replace(self, end=max(self.end, monotonic() + seconds))

    def __reduce__(self):
        # The monotonic clock of another machine began at another time.
        return _at_time_of_day, (self.end - monotonic() + time(), self._events)


def _at_time_of_day(end, events):
    return Deadline(end - time() + monotonic(), events)


NO_DEADLINE = Deadline()


class Activity:
    """A part of a training, and how much of it is done.

    Shares of the parts add up to the whole. Parts may run in several threads; in another process,
    nothing is shown.

    Parameters
    ----------
    display : Lines or None
        Where it is shown. None shows nothing.
    what : str, default=""
        What is being done.
    parent : Activity or None, default=None
    share : float, default=1.0
        Of the parent.
    stop : threading.Event or None, default=None
        Once it is set, `at` raises KeyboardInterrupt. This ends work in other threads, which
        Ctrl-C does not reach.

    Examples
    --------
    >>> from ngdt._training.control import Activity
    >>> class Display:
    ...     def show(self, what, share):
    ...         print(f"{what}: {share:.0%}")
    >>> whole = Activity(Display())
    >>> part = whole.part(0.5, "training")
    >>> part.at(0.5)
    training: 25%
    >>> part.part(0.5, "fold 2").finish()
    training, fold 2: 50%
    """

    def __init__(self, display=None, what="", parent=None, share=1.0, stop=None):
        self.what = what
        self._display, self._parent, self._share, self._stop = display, parent, share, stop
        self._lock = Lock() if parent is None else parent._lock
        self._done = 0.0

    @property
    def left(self):
        """The share that is not yet done."""
        return 1.0 - self._done

    def part(self, share, what="", stop=None):
        """A part of this part.

        Parameters
        ----------
        share : float
            Of this part.
        what : str, default=""
        stop : threading.Event or None, default=None
            None takes the one of this part.

        Returns
        -------
        Activity
        """
        stop = self._stop if stop is None else stop
        if self._display is None and stop is None:
            return self
        what = ", ".join(filter(None, (self.what, what)))
        return Activity(self._display, what, self, share, stop)

    def at(self, share, what=""):
        """Say how much of this part is done.

        Parameters
        ----------
        share : float
            A smaller one than before changes nothing.
        what : str, default=""
            What is done next.
        """
        if self._stop is not None and self._stop.is_set():
            raise KeyboardInterrupt
        if self._display is None:
            return
        with self._lock:
            whole = self._advance(share - self._done)
            self._display.show(", ".join(filter(None, (self.what, what))), whole)

    def finish(self):
        """Say that this part is done. This raises nothing."""
        if self._display is not None:
            with self._lock:
                self._display.show(self.what, self._advance(1.0))

    def _advance(self, more):
        """Add to the share that is done, and return the share of the whole."""
        more = max(0.0, min(more, 1.0 - self._done))
        self._done += more
        return self._done if self._parent is None else self._parent._advance(self._share * more)

    def __reduce__(self):
        return Activity, ()     # a display belongs to its process


SILENT = Activity()


class Checkpoint:
    """A checkpoint that stores nothing: the base class of those in files.

    A training without a deadline does the same in the same order each time. So the results of its
    steps are stored by their numbers, and a step that has a result is not done again. A step is a
    call of an optimizer or an initializer, or, in a forest, a tree. Of the step that is under way,
    optimizers store their state at the ends of epochs.

    Attributes
    ----------
    is_due : bool
        Whether it is time for `keep`.
    """

    is_due = False

    def step(self, kind, make):
        """The result of the next step, which is made if it is not known.

        Parameters
        ----------
        kind : type
            `Tree` or a dataclass.
        make : callable
            Returns the result.

        Returns
        -------
        object
            Of this kind.
        """
        return make()

    def next_group(self):
        """Number of a group of steps that are done in any order, int."""
        return 0

    def known(self, kind, key):
        """The result of a step of a group; None if it is not known.

        Parameters
        ----------
        kind : type
        key : tuple of int
            Number of the group, number of the step.
        """
        return None

    def add(self, key, result):
        """Store the result of a step of a group."""

    def next_run(self):
        """Number of a run within the step, int."""
        return 0

    def state_of(self, run):
        """The stored state of a run, or None."""
        return None

    def keep(self, run, state):
        """Store the state of a run, dict of values that a file can hold."""

    def end(self):
        """Store no more: what follows is cut short."""

    def remove(self, only_empty=False):
        """Remove the file, if there is one, as the training has ended.

        Parameters
        ----------
        only_empty : bool, default=False
            Whether a file that holds results stays.
        """


NO_CHECKPOINT = Checkpoint()


def set_random_state(random, state):
    """Set a random number generator to a state.

    Parameters
    ----------
    random : RandomState
    state : dict
        As ``random.get_state(legacy=False)`` returns it.
    """
    if not 0 <= state["state"]["pos"] <= len(random.get_state()[1]):    # NumPy does not check it
        raise ValueError("the state of the random numbers is out of range")
    random.set_state(state)


@dataclass(frozen=True, eq=False)
class Control:
    """Control of a training: when it stops, and what it shows and stores.

    Algorithms call `step`, or `ngdt.optimizers.Progress.report` after each epoch.

    Parameters
    ----------
    deadline : Deadline
        Time by which to return the best tree so far; by default, there is none.
    activity : Activity
        Where to say how much is done. By default, nothing is shown.
    checkpoint : Checkpoint
        Results of steps that have been done before. By default, nothing is stored.
    callback : callable or None
        Called as ``callback(metrics)`` after each epoch with a dict of the metrics of the epoch.
    verbose : int
        Above 1 prints a line per epoch.

    Examples
    --------
    >>> from ngdt._training.control import Control, Deadline
    >>> Control().step(0.5), Control(Deadline(0.0)).step(0.5)
    (True, False)
    """

    deadline: Deadline = NO_DEADLINE
    activity: Activity = SILENT
    checkpoint: Checkpoint = NO_CHECKPOINT
    callback: Callable[[dict], Any] | None = None
    verbose: int = 0

    def step(self, share: float, what: str = "") -> bool:
        """Show how much is done, and return whether there is time for more.

        Parameters
        ----------
        share : float
            Of this work.
        what : str, default=""
            What is done next.

        Raises
        ------
        KeyboardInterrupt
            By Ctrl-C, and where another thread has ended the training.
        """
        self.activity.at(share, what)
        return self.deadline.fits()

    def part(self, share: float, what: str = "") -> "Control":
        """The control of a part of this work.

        Parameters
        ----------
        share : float
            Of this work.
        what : str, default=""
            What is done in it.
        """
        return replace(self, activity=self.activity.part(share, what))

    def with_time(self, share: float) -> "Control":
        """The control of what has a share of the time left."""
        return replace(self, deadline=self.deadline.share(share))

    def quiet(self) -> "Control":
        """The control of trainings within a training: without lines and callback for epochs."""
        return replace(self, callback=None, verbose=0)

    def silent(self) -> "Control":
        """The control of small trainings of which nothing is shown or stored."""
        return Control(self.deadline)

    def unstored(self) -> "Control":
        """The control of what is not stored by itself."""
        return replace(self, checkpoint=NO_CHECKPOINT)


NO_CONTROL = Control()


def cosine(done):
    """Share of the initial learning rate at finished shares of a run."""
    return 0.5 * (1.0 + np.cos(np.pi * done))


class Pace:
    """Finished share of a run at each of its steps, from which schedules follow.

    Without a deadline, each of the steps is the same share of the run.
    With a deadline, the time per step is measured from piece to piece. If too little is left for
    the remaining steps, each of them becomes a larger share, so that the run ends in time, and with
    the end of its schedules.

    Parameters
    ----------
    control : Control
        Its deadline; it is told the finished share.
    epochs : int
    n_steps : int
        Steps per epoch.
    """

    def __init__(self, control, epochs, n_steps):
        self.control, self.epochs, self.n_steps = control, epochs, n_steps
        self.is_finished = False
        self._skipped = 0.0         # share of the run
        self._size = 0              # steps of the last piece
        self._seconds = None        # per step, once measured
        self._begin, self._n_measured = monotonic(), 0

    def pieces(self, epoch):
        """The steps of an epoch that are to be done together.

        Parameters
        ----------
        epoch : int

        Yields
        ------
        steps : slice
            Of the steps of the epoch. The caller does them before it asks for the next ones.
        done : ndarray of shape (n_steps_of_the_piece,)
            Finished share of the run before each of them, in [0, 1).
        """
        done = (epoch + np.arange(self.n_steps) / self.n_steps) / self.epochs
        first = 0
        while first < self.n_steps and not self.is_finished:
            piece = self._next(done[first:])
            yield slice(first, first + len(piece)), piece
            first += len(piece)
            self.control.activity.at(piece[-1])

    def _next(self, done):
        """Finished shares of the next piece, from those without a deadline."""
        deadline, total = self.control.deadline, self.epochs * self.n_steps
        remaining = (1.0 - done[0] - self._skipped) * total
        skip, seconds = 0.0, self._measure(deadline.left)
        is_late = not deadline.fits(remaining * (self._seconds or 0.0))
        left = deadline.left
        if is_late:
            # Each step becomes as long as those that one step has time for.
            skip = (remaining * seconds / left - 1.0) / total if left else 1.0
        longest = min(_PIECE * left, _PIECE_SECONDS)
        n = int(min(longest / seconds, _GROWTH * self._size)) if self._size else 1
        piece = done[:max(1, n)] + self._skipped
        piece += skip * np.arange(len(piece))
        piece = piece[:max(1, np.count_nonzero(piece < 1.0))]
        self._size = len(piece)
        self._n_measured += self._size
        self._skipped += skip * self._size
        following = piece[-1] + skip + 1.0 / total
        self.is_finished = self._skipped > 0.0 and following >= 1.0 - _ROUNDING
        return piece

    def _measure(self, left):
        """Seconds per step, all that is done between the steps included."""
        elapsed = max(monotonic() - self._begin, 1e-9)
        if not self._n_measured:
            return elapsed
        seconds = elapsed / self._n_measured
        if elapsed >= _WINDOW * left:
            self._seconds = seconds
            self._begin, self._n_measured = monotonic(), 0
        return self._seconds or seconds
