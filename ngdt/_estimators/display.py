"""Display of a long training: a line a second, with the share done and the time left."""

from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from ngdt._training.control import SILENT, Activity

# Seconds between two lines.
INTERVAL = 1.0
# Share of the work from which the time left is estimated.
_MIN_SHARE = 0.02
# The activity of which the next trainings are a part; None if each is one of its own.
_whole = ContextVar("whole", default=None)


class Lines:
    """Prints a line a second."""

    def __init__(self):
        self._begin = self._last = monotonic()

    def show(self, what, share):
        """Print a line on a share of the whole, unless the last one is younger than a second."""
        now = monotonic()
        if now - self._last < INTERVAL:
            return
        self._last, elapsed = now, now - self._begin
        left = f", about {_seconds(elapsed / share - elapsed)} left" if share >= _MIN_SHARE else ""
        what = what and f"{what}: "
        print(f"[ngdt] {what}{share:.0%} done, {_seconds(elapsed)}{left}", flush=True)


def _seconds(seconds):
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def watching(verbose):
    """Context manager: the activity of a whole training, shown if `verbose` is not 0."""
    if _whole.get() is not None or not verbose:
        yield _whole.get() or SILENT
        return
    begin = monotonic()
    yield Activity(Lines())
    print(f"[ngdt] done in {_seconds(monotonic() - begin)}", flush=True)


@contextmanager
def within(activity):
    """Context manager: trainings are shown as this activity, whatever their `verbose`."""
    token = _whole.set(activity)
    try:
        yield
    finally:
        _whole.reset(token)
