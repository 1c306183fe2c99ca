"""Warnings that point at the line of the user."""

import sys
import warnings

# Packages between that line and the warning: this one, and what may call it.
_BETWEEN = {"contextlib", "joblib", "ngdt", "sklearn"}


def warn(message, category=UserWarning):
    """Warn at the nearest line of the callers that is in none of the packages between.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and (
            frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
