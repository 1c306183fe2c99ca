"""A mistake of the user, which ends the command with one line and exit code 2."""

from importlib import import_module


class Mistake(Exception):
    """The mistake of the user, and the way out, in one line."""


def need(module, what, install):
    """Import an optional module.

    Parameters
    ----------
    module : str
    what : str
        What needs it, such as "tables need".
    install : str
        What pip installs.

    Returns
    -------
    module

    Raises
    ------
    Mistake
        If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise Mistake(
            f"{what} {module.partition('.')[0]}: python -m pip install \"{install}\"") from None
