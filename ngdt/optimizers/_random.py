"""The state of a random number generator, as a checkpoint keeps it."""


def state_of(random):
    """The state of a generator.

    Parameters
    ----------
    random : RandomState

    Returns
    -------
    dict
    """
    return random.get_state(legacy=False)


def restore(random, state):
    """Set a generator to a state.

    Parameters
    ----------
    random : RandomState
    state : dict
        As `state_of` returns it.
    """
    if not 0 <= state["state"]["pos"] <= len(random.get_state()[1]):    # NumPy does not check it
        raise ValueError("the state of the random numbers is out of range")
    random.set_state(state)
