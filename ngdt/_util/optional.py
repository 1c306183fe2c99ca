"""Imports of packages that only some functions need."""

from importlib import import_module


def import_optional(module, what, install):
    """Import a module that needs an optional package, or say how to install this.

    Parameters
    ----------
    module : str
    what : str
        What needs it, such as "ngdt.plotting needs".
    install : str
        What pip installs.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If the package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = error.name.partition(".")[0]
        raise ImportError(f'{what} {package}: python -m pip install "{install}"') from error
