"""The state of a run between two epochs, as a checkpoint keeps it."""

import numpy as np


def fill(array, kept):
    """Set an array to what was kept of it.

    Parameters
    ----------
    array, kept : ndarray
    """
    if kept.shape != array.shape:
        raise ValueError(f"an array has the shape {kept.shape}, not {array.shape}")
    array[...] = kept
    if not np.isfinite(array).all():
        raise ValueError("an array has numbers that are not finite")


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
