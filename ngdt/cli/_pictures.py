"""Pictures as bytes."""

from io import BytesIO

from ngdt.cli._errors import need


def pyplot():
    """`matplotlib.pyplot`, for pictures that are written and not shown.

    Returns
    -------
    module
    """
    need("matplotlib", "pictures need", "ngdt[plot]").use("agg")
    return need("matplotlib.pyplot", "pictures need", "ngdt[plot]")


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
