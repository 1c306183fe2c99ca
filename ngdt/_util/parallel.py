"""Calls that several threads share, for work of a millisecond and more."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import numpy as np
from joblib import effective_n_jobs


class Threads(AbstractContextManager):
    """Threads that wait for calls until the end of a `with` statement.

    joblib waits for results in intervals of ten milliseconds, longer than a level of a small tree
    takes.

    Parameters
    ----------
    n_threads : int
        With one, the calls are made in the thread that asks for them.
    """

    def __init__(self, n_threads):
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def __exit__(self, *error):
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, function, *arguments):
        """Results of a function for each set of arguments, as a list; sequences of one length."""
        return list((map if self._pool is None else self._pool.map)(function, *arguments))


def map_ranges(function, n, n_jobs, least):
    """Results of a function for consecutive ranges, made at the same time.

    Parameters
    ----------
    function : callable
        Takes the first number of a range and the one after the last.
    n : int
        The ranges cover the numbers from 0 to n - 1.
    n_jobs : int or None
        Number of threads, as in joblib.
    least : int
        Least length of a range, if there are several.

    Returns
    -------
    list
    """
    n_threads = 1 if n < 2 * least else min(effective_n_jobs(n_jobs), n // least)
    if n_threads == 1:
        return [function(0, n)]
    ends = np.linspace(0, n, n_threads + 1).astype(np.intp).tolist()
    with Threads(n_threads) as threads:
        return threads.map(function, ends[:-1], ends[1:])
