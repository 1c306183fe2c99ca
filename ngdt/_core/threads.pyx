"""Threads that share the work on each mini-batch.

A mini-batch has two phases, each ended by a barrier:

1. visit: tasks are ranges of slots. A task reads the tree and writes its slots.
2. update: tasks are parts of the tree. A task reads all slots and writes its part.

No two tasks of a phase write the same memory, and the tasks do not depend on the number of threads.
So neither does the result, whichever thread takes which task.
"""

import os
import threading
from collections import Counter
from functools import cache, partial

import joblib
from threadpoolctl import ThreadpoolController


@cache      # the search for loaded libraries takes milliseconds, longer than a fit of a small tree
def _blas_libraries():
    return [each for each in ThreadpoolController().lib_controllers if each.user_api == "blas"]


def _set_threads(library, number):
    # Of recent versions of threadpoolctl, `set_num_threads` does nothing for OpenBLAS in all
    # threads but one, which the last to leave need not be.
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


class _OneBLASThread:
    """Limits BLAS from when the first thread enters until the last one leaves.

    The limit is one of the process. Were it set and restored by each fit for itself, the first of
    two fits at once would lift it for the second, which then would restore the limit of the first.
    """

    def __init__(self):
        self._lock, self._before = threading.Lock(), []
        self._n_inside = Counter()      # by thread: how often it has entered and not left
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=self._lock.release,
                after_in_child=self._forget_other_threads)

    def __enter__(self):
        libraries = _blas_libraries()
        with self._lock:
            if not self._n_inside:
                self._before = [(each, each.num_threads) for each in libraries]
                for each in libraries:
                    _set_threads(each, 1)
            self._n_inside[threading.get_ident()] += 1

    def __exit__(self, *error):
        with self._lock:
            self._leave(threading.get_ident(), 1)

    def _leave(self, thread, times):
        self._n_inside[thread] -= times
        self._n_inside = +self._n_inside    # without zeros
        if not self._n_inside:
            for library, number in self._before:
                _set_threads(library, number)

    def _forget_other_threads(self):
        """In a child, which has none of them: they could neither leave nor release the lock."""
        try:
            for thread in set(self._n_inside) - {threading.get_ident()}:
                self._leave(thread, self._n_inside[thread])
        finally:
            self._lock.release()


# Context manager: BLAS uses one thread, where several threads of ours call it.
one_blas_thread = _OneBLASThread()


def usable_threads(n_jobs):
    """Number of threads for `n_jobs`: no more than there are cores.

    Threads wait for each other at every mini-batch. With more threads than cores, those that wait
    take the cores of those that work.

    Parameters
    ----------
    n_jobs : int

    Returns
    -------
    int
    """
    return 1 if n_jobs == 1 else min(n_jobs, joblib.cpu_count())


def run_threads(calls, abort):
    """Make all calls at once, the first in this thread and each other one in its own.

    Plain threads: all of them must run at once, which a shared pool does not promise.

    Parameters
    ----------
    calls : list of callable
    abort : callable
        Ends the waiting of the others: called if a call in this thread, or the start of another
        thread, fails.
    """
    threads = [threading.Thread(target=call) for call in calls[1:]]
    try:
        for thread in threads:
            thread.start()
        calls[0]()
    except BaseException:
        # Ctrl-C before all have started: those that wait for the others would never return.
        abort()
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()


cdef class MiniBatchLoop:
    """The two phases of each mini-batch of an epoch; subclasses override what the tasks do.

    - ``visit(worker, step, first, stop)``: write the slots from `first` to `stop`.
    - ``begin_updates(worker, step)``: number of update tasks. Each thread calls it, and may write
      its own `worker` only.
    - ``update(worker, step, task)``: write one part of the tree.

    Subclasses set `workers`, `batch_size`, and `samples_per_task`, the samples of a visit.
    """

    cdef object run(self, const int32_t[::1] order, Py_ssize_t n_steps):
        """Visit the samples in this order, by all workers."""
        self.order, self.n_steps = order, n_steps
        # Before the threads start: they must not meet counters of the last epoch.
        ngdt_threads_init(&self.threads, len(self.workers))
        # The GIL is released in each thread, for the whole epoch.
        run_threads([partial(self._run, worker) for worker in self.workers], self._abort)

    def _run(self, Worker worker):
        """Do the tasks of one thread in an epoch."""
        cdef Step step
        cdef int first, task, n_tasks
        with nogil:
            for step.number in range(self.n_steps):
                step.start = step.number * self.batch_size
                step.n = <int> min(self.batch_size, self.order.shape[0] - step.start)
                # Whoever is free takes the next task: samples differ in how long they take.
                first = self.samples_per_task * ngdt_threads_next_task(&self.threads)
                while first < step.n:
                    self.visit(worker, &step, first, min(first + self.samples_per_task, step.n))
                    first = self.samples_per_task * ngdt_threads_next_task(&self.threads)
                # Updates read the slots that other threads have written.
                if not ngdt_threads_wait(&self.threads):
                    break
                # Each thread finds the same number, and need not be told.
                n_tasks = self.begin_updates(worker, &step)
                # The barrier has set the counter of tasks back to zero.
                task = ngdt_threads_next_task(&self.threads)
                while task < n_tasks:
                    self.update(worker, &step, task)
                    task = ngdt_threads_next_task(&self.threads)
                # The next visits read what the updates have written.
                if not ngdt_threads_wait(&self.threads):
                    break

    def _abort(self):
        ngdt_threads_abort(&self.threads)

    cdef void visit(
            self, Worker worker, const Step *step, int first, int stop) noexcept nogil:
        pass

    cdef int begin_updates(self, Worker worker, const Step *step) noexcept nogil:
        return 0

    cdef void update(self, Worker worker, const Step *step, int task) noexcept nogil:
        pass
