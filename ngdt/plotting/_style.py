"""What all plots share: the import of matplotlib and the colours."""

# Diverging and symmetric around white: red weights move samples to the right child, blue ones to
# the left.
WEIGHT_COLORS = "RdBu_r"
RED, BLUE = "#b2182b", "#2166ac"


def import_pyplot():
    """Import matplotlib.pyplot, or say how to install it.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'ngdt.plotting needs matplotlib: python -m pip install "ngdt[plot]"'
        ) from error
    return plt


def direction_keys(linear_leaves=False):
    """Legend entries for the signs of weights.

    Parameters
    ----------
    linear_leaves : bool, default=False
        Whether to explain the signs of slopes, too.

    Returns
    -------
    list of matplotlib Patch
    """
    from matplotlib.patches import Patch

    lower, higher = (" or lower", " or higher") if linear_leaves else ("", "")
    return [
        Patch(color=BLUE, label=f"negative weight: left{lower}"),
        Patch(color=RED, label=f"positive weight: right{higher}"),
    ]
