"""The time until which a fit has to end."""

from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic, time


class OutOfTime(Exception):
    """Ends a block of `Progress.until_interrupted` at the deadline."""


@dataclass
class _Record:
    """What happened to a deadline, and to shares of its time."""

    has_cut: bool = False
    is_stopped: bool = False


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
    # Shares of the time have the same record.
    _record: _Record = field(default_factory=_Record, repr=False, compare=False)

    @classmethod
    def after(cls, seconds: float | None) -> "Deadline":
        """The deadline this time from now; None stands for no deadline."""
        return cls(inf if seconds is None else monotonic() + seconds)

    @property
    def is_set(self) -> bool:
        """Whether there is a deadline."""
        return self.end < inf or self.is_stopped

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` has been called."""
        return self._record.is_stopped

    @property
    def left(self) -> float:
        """Seconds left; 0 from the deadline on."""
        if self._record.is_stopped:
            return 0.0
        return max(0.0, self.end - monotonic()) if self.end < inf else inf

    @property
    def has_cut(self) -> bool:
        """Whether anything did not fit."""
        return self._record.has_cut

    def fits(self, seconds: float = 0.0) -> bool:
        """Whether more than this time is left. If not, this is noted for `has_cut`."""
        fits = self.left > seconds
        if not fits:
            self._record.has_cut = True
        return fits

    def stop(self) -> None:
        """Let no time be left, from now on."""
        self._record.is_stopped = True

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
        return _at_time_of_day, (self.end - monotonic() + time(), self._record)


def _at_time_of_day(end, record):
    return Deadline(end - time() + monotonic(), record)


NO_DEADLINE = Deadline()
