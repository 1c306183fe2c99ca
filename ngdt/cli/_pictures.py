"""Pictures as bytes."""

from io import BytesIO

from ngdt._util.optional import import_optional
from ngdt.plotting._style import import_pyplot


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
