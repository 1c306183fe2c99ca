"""The command `ngdt`, apart from the package, whose import takes a second."""

import os
import signal


def main():
    """Run the command line; Ctrl-C ends the process with one line, during imports, too.

    Returns
    -------
    int
        The exit status.
    """
    # Imports of compiled modules may turn an exception into another one. A signal that is ignored
    # stays ignored.
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, _interrupted)
    from ngdt.cli import main as run

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def _interrupted(*_):
    os.write(2, b"ngdt: interrupted\n")
    os._exit(130)
