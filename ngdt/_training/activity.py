"""What a long training is doing: a line a second or a bar, the share done, and the time left."""

import sys
from contextlib import contextmanager
from threading import Lock
from time import monotonic

# Seconds between two lines.
INTERVAL = 1.0
# Share of the work from which the time left is estimated.
_MIN_SHARE = 0.02


class Activity:
    """A part of a training, and how much of it is done.

    Shares of the parts add up to that of the whole. Parts may run in several threads; in another
    process, nothing is shown.

    Parameters
    ----------
    display : Lines, Bar or None
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
    >>> from ngdt._training.activity import Activity
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
            None takes that of this part.

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
        """Add to the share that is done, and return that of the whole."""
        more = max(0.0, min(more, 1.0 - self._done))
        self._done += more
        return self._done if self._parent is None else self._parent._advance(self._share * more)

    def __reduce__(self):
        return Activity, ()     # a display belongs to its process


SILENT = Activity()


class Lines:
    """Prints a line a second."""

    def __init__(self):
        self._begin = self._last = monotonic()

    def show(self, what, share):
        """Print a line, unless the last one is younger than a second.

        Parameters
        ----------
        what : str
        share : float
            Of the whole, that is done.
        """
        now = monotonic()
        if now - self._last < INTERVAL:
            return
        self._last, elapsed = now, now - self._begin
        left = ""
        if share >= _MIN_SHARE:
            left = f", about {_seconds(elapsed * (1.0 - share) / share)} left"
        print(f"[ngdt] {what}: {share:.0%} done, {_seconds(elapsed)}{left}", flush=True)

    def stop(self):
        """End the display."""

    def done(self):
        """Print how long it took."""
        print(f"[ngdt] done in {_seconds(monotonic() - self._begin)}", flush=True)


class Bar:
    """Draws a bar in a terminal, with the package rich."""

    def __init__(self, rich_progress):
        self._bar = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}"), rich_progress.BarColumn(),
            rich_progress.TaskProgressColumn(), rich_progress.TimeElapsedColumn(),
            rich_progress.TimeRemainingColumn(), transient=True)
        self._task = self._bar.add_task("", total=1.0)
        self._lines = Lines()
        self._bar.start()

    def show(self, what, share):
        """As for `Lines`; the bar redraws itself by the clock."""
        self._bar.update(self._task, description=what, completed=share)

    def stop(self):
        """Remove the bar."""
        self._bar.stop()

    def done(self):
        """Print how long it took."""
        self._lines.done()


def _seconds(seconds):
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def watching(verbose):
    """Context manager: the activity of a whole training, which is shown if this is wanted.

    Parameters
    ----------
    verbose : int or bool

    Yields
    ------
    Activity
    """
    if not verbose:
        yield SILENT
        return
    display = _display()
    try:
        yield Activity(display)
    except BaseException:
        display.stop()
        raise
    display.stop()
    display.done()


def _display():
    """A bar in a terminal if rich is installed, else lines."""
    if sys.stdout.isatty():
        try:
            from rich import progress
        except ImportError:
            pass
        else:
            return Bar(progress)
    return Lines()
