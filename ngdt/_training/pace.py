"""The pace of a schedule: slow by itself, faster if the deadline requires it."""

from time import monotonic

import numpy as np

# Share of the time left that a piece may take, and in which the time per step is measured; and the
# largest growth from piece to piece, since the first ones are short and slow.
_PIECE, _WINDOW, _GROWTH = 0.02, 0.05, 8
# Seconds of a piece, after which Ctrl-C is noticed and progress is shown.
_PIECE_SECONDS = 0.2
# Share of a run that rounding can explain.
_ROUNDING = 1e-9


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
        left = deadline.left
        remaining = (1.0 - done[0] - self._skipped) * total
        skip, seconds = 0.0, self._measure(left)
        if left == 0.0 or (self._seconds and not deadline.fits(remaining * self._seconds)):
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
