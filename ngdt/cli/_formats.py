"""Formats of a command: chosen by --format, or by the suffix of the file that is written."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from ngdt._files.container import writing
from ngdt._util.optional import import_optional
from ngdt.cli._errors import Mistake
from ngdt.cli._options import add_output_argument, check_output
from ngdt.plotting._style import import_pyplot


@dataclass(frozen=True)
class Format:
    """A way to write a model.

    Attributes
    ----------
    write : callable
        ``write(model, arguments)`` returns text or bytes.
    suffixes : tuple of str
        Of files of this format.
    """

    write: Callable
    suffixes: tuple


def add_format_arguments(parser, formats, default=None):
    """The arguments for the format and the file.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    formats : dict of str to Format
    default : str, default=None
        The format without a file.
    """
    text = f"(default: that of FILE{f', or {default}' if default else ''})"
    parser.add_argument("-f", "--format", choices=list(formats), help=text)
    add_output_argument(parser, "file to write (default: stdout)")


def chosen_format(arguments, formats, default=None):
    """The format that the arguments say.

    Parameters
    ----------
    arguments : argparse.Namespace
        `format` and `output`.
    formats : dict of str to Format
    default : str, default=None

    Returns
    -------
    Format
    """
    if arguments.output is not None:
        check_output(arguments.output)
    if arguments.format is not None:
        return formats[arguments.format]
    if arguments.output is None:
        if default is None:
            raise Mistake(f"--format is missing: {', '.join(formats)}")
        return formats[default]
    suffix = Path(arguments.output).suffix.lower()
    for each in formats.values():
        if suffix in each.suffixes:
            return each
    known = ", ".join(suffix for each in formats.values() for suffix in each.suffixes)
    raise Mistake(f"{arguments.output}: the file must end with one of {known}, or give --format")


def write(content, output):
    """Write text or bytes to a file or to stdout.

    Parameters
    ----------
    content : str or bytes
    output : str or None
    """
    if isinstance(content, str):
        content = content if content.endswith("\n") else f"{content}\n"
        if output is None:
            sys.stdout.write(content)
            return
        content = content.encode()
    if output is not None:
        with writing(output) as file:
            file.write(content)
    elif sys.stdout.isatty():
        raise Mistake("this format is not text: give a file with --output FILE")
    else:
        sys.stdout.buffer.write(content)


def pyplot():
    """`matplotlib.pyplot`, for pictures that are written and not shown.

    Returns
    -------
    module
    """
    import_optional("matplotlib", "pictures need", "ngdt[plot]").use("agg")
    return import_pyplot()


def image(figure, kind="png"):
    """A figure as a file, and close it.

    Parameters
    ----------
    figure : matplotlib Figure
    kind : {"png", "svg", "pdf"}

    Returns
    -------
    bytes
    """
    file = BytesIO()
    figure.savefig(file, format=kind, dpi=120, bbox_inches="tight")
    pyplot().close(figure)
    return file.getvalue()
