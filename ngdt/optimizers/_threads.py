"""A team of threads that work on the same mini-batches."""

import threading


def run_threads(calls, abort):
    """Make all calls at once, the first in this thread and each other one in its own.

    Plain threads: all of them must run at once, which a shared pool does not promise.

    Parameters
    ----------
    calls : list of callable
    abort : callable
        Sends home those that are at work: called if a call in this thread, or the start of another
        thread, fails.
    """
    threads = [threading.Thread(target=call) for call in calls[1:]]
    try:
        for thread in threads:
            thread.start()
        calls[0]()
    except BaseException:
        # Ctrl-C before all are at work: those that wait for the others would wait for ever.
        abort()
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
