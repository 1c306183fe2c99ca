"""Formats of a command: chosen by --format, or by the suffix of the file that is written."""

import sys
from io import BytesIO
from pathlib import Path

from ngdt._util.container import writing
from ngdt._util.optional import import_optional
from ngdt.cli._options import Mistake, add_output_argument
from ngdt.plotting._style import import_pyplot


def add_format_arguments(parser, formats, default=None):
    """The arguments for the format and the file.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    formats : dict of str to (callable, tuple of str)
        ``write(model, arguments)``, which returns text or bytes, and suffixes of files, by name.
    default : str, default=None
        The format without a file.
    """
    text = f"(default: that of FILE{f', or {default}' if default else ''})"
    parser.add_argument("-f", "--format", choices=list(formats), help=text)
    add_output_argument(parser, "file to write (default: stdout)")
    parser.set_defaults(formats=formats, default_format=default)


def chosen_format(arguments):
    """The format that the arguments say.

    Parameters
    ----------
    arguments : argparse.Namespace
        With the arguments of `add_format_arguments`.

    Returns
    -------
    callable
        ``write(model, arguments)``.
    """
    formats, output = arguments.formats, arguments.output
    by_suffix = {suffix: name for name, (_, suffixes) in formats.items() for suffix in suffixes}
    chosen = arguments.format or (
        arguments.default_format if output is None else by_suffix.get(Path(output).suffix.lower()))
    if chosen is None:
        raise Mistake(
            f"--format is missing: give one of {', '.join(formats)}, or --output FILE that ends "
            f"with one of {', '.join(by_suffix)}")
    return formats[chosen][0]


def write(content, output):
    """Write text or bytes to a file, or to stdout for None."""
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
    """`matplotlib.pyplot`, for pictures that are written and not shown."""
    import_optional("matplotlib", "pictures need", "ngdt[plot]").use("agg")
    return import_pyplot()


def image(figure, kind="png"):
    """Bytes of a figure as "png", "svg" or "pdf"; close it."""
    file = BytesIO()
    figure.savefig(file, format=kind, dpi=120, bbox_inches="tight")
    pyplot().close(figure)
    return file.getvalue()
