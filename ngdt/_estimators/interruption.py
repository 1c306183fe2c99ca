"""What Ctrl-C ends: a training, whose best tree is kept, or a search that consists of many."""

import signal
import sys
import threading

# Modules of scikit-learn that call `fit` once. Others do so in loops, such as searches and
# ensembles, which go on with the next model unless KeyboardInterrupt ends them.
_CALL_ONCE = ("sklearn.base", "sklearn.pipeline", "sklearn.compose", "sklearn.utils")


class CtrlC:
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
        if self._count > 1 or is_one_of_several():
            raise KeyboardInterrupt


def is_one_of_several():
    """Whether this training was started by a search, a cross-validation, or another ensemble.

    Returns
    -------
    bool
    """
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(("sklearn.", "joblib.")) and not module.startswith(_CALL_ONCE):
            return True
        frame = frame.f_back
    return False
