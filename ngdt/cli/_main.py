"""Parse the arguments, run the command, and say in one line what was wrong."""

import argparse
import os
import re
import sys
import warnings
from functools import cache

from ngdt._util.validation import did_you_mean
from ngdt._util.version import __version__
from ngdt.cli import _compare, _demo, _explain, _export, _fit, _predict, _show
from ngdt.cli._options import Mistake, check_output

COMMANDS = {
    "fit": _fit, "predict": _predict, "show": _show, "explain": _explain, "export": _export,
    "compare": _compare, "demo": _demo}
# Patterns of what programs do, as errors and warnings of `fit` say, and what to do here.
_OPTIONS = {
    r"X\.astype\(\{(.*?): 'category'\}\)": r"--categorical \1",
    r"name it in categorical_features, as \[(.*?)\]": r"give --categorical \1",
    r"decimal=',' of pandas\.read_csv": "--decimal ','",
    r"use a regressor": "give --task regression",
    r"use a classifier": "give --task classification",
    r"by pandas\.to_numeric once (.*?) are removed": r"in the file, without \1",
    r"numbers, as pandas\.to_numeric makes them of texts; for codes, y\.astype\(int\)":
        "numbers in the file",
    r"by pandas\.to_datetime": "in the file, or leave them out by --drop",
    r"drop them, ": "leave them out by --drop, ",
    r"optimizer='tao' with validation_fraction": "fit --set optimizer=tao validation_fraction",
    r"With validation_fraction": "With fit --set validation_fraction",
    r"class_weight='balanced'": "fit --set class_weight=balanced",
    r"of predict_proba": "of what predict --proba writes",
    r"(can't encode character .*)": r"\1: write to a file, with --output"}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def parse_known_args(self, args=None, namespace=None):
        """Refuse unknown arguments in a command, whose help has its options."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = did_you_mean(unknown[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{'.' * bool(hint)}{hint}")
        return found, unknown

    def exit(self, status=0, message=None):
        """End the process, as after `--help`; a pipe that is closed shows here, not later."""
        if status == 0:
            sys.stdout.flush()
        super().exit(status, message)

    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help shows how)\n")


def make_parser():
    """The parser of all commands."""
    parser = Parser(prog="ngdt", description="Oblique decision trees that are trained as a whole.")
    parser.add_argument("--version", action="version", version=f"ngdt {__version__}")
    parser.add_argument(
        "--traceback", action="store_true", help="show where an error was raised, for bug reports")
    # shtab writes a script that needs no Python. With argcomplete or click, each Tab would import
    # this package and scikit-learn, which takes seconds.
    option, what = "--print-completion", "print completions for a shell"
    try:
        import shtab
    except ImportError:
        parser.add_argument(option, type=_without_shtab, metavar="SHELL", help=what)
    else:
        shtab.add_argument_to(parser, option, help=what)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name, help=module.HELP, description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _without_shtab(shell):
    raise argparse.ArgumentTypeError('needs shtab: python -m pip install "ngdt[cli]"')


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None takes the arguments of the process.

    Returns
    -------
    int
        0, the exit status. A mistake in the arguments or in the data ends the process with 2 and
        one line on stderr, Ctrl-C before there is a result with 130.

    Examples
    --------
    >>> from ngdt.cli import main
    >>> main(["show", "wine.ngdt"])     # doctest: +SKIP
    0
    """
    parser = make_parser()
    try:
        arguments = parser.parse_args(argv)     # which prints completions
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            # Each text of a warning once: `compare` trains on many folds.
            say = cache(lambda line: print(line, file=sys.stderr))
            warnings.showwarning = lambda warning, *_, **__: say(
                f"ngdt: warning: {_one_line(warning)}")
            if getattr(arguments, "output", None) is not None:
                check_output(arguments.output)
            arguments.run(arguments)
            sys.stdout.flush()
    except BrokenPipeError:     # `ngdt show model.ngdt | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    # What reading, training and writing raise for input that does not suit them.
    except (Mistake, OSError, ValueError, TypeError, ImportError) as error:
        if arguments.traceback:
            raise
        parser.exit(2, f"ngdt: error: {_one_line(error)}\n")
    except KeyboardInterrupt:
        parser.exit(130, "ngdt: interrupted\n")
    return 0


def _one_line(error):
    if isinstance(error, OSError) and error.strerror and error.filename:
        return " ".join(f"{error.filename}: {error.strerror}".split())
    line = " ".join(str(error).split())
    for advice, option in _OPTIONS.items():
        line = re.sub(advice, option, line)
    return line
