"""The ``ngdt`` command; ``ngdt demo`` shows in a minute what the package does."""

import argparse
import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier, __version__
from ngdt.inference import empirical_loss, upper_bound

# Rows of the demo's table; the first is the baseline, the last one is drawn.
METHODS = {
    "greedy, axis-aligned splits": {"init": "info_gain", "optimizer": None},
    "greedy, oblique splits (CO2)": {"init": "co2", "optimizer": None},
    "non-greedy, soft training (the default)": {},
    "non-greedy, SGD": {"optimizer": "sgd"},
    "non-greedy, SSGD": {"optimizer": "ssgd"},
}
COLUMNS = ("train %", "test %", "leaves", "loss", "bound", "seconds")


def _row(tree, train, test, seconds):
    """One line of the table, from a fitted tree."""
    return (
        f"{100 * tree.score(*train):.1f}",
        f"{100 * tree.score(*test):.1f}",
        f"{len(np.unique(tree.apply(train[0])))}",
        f"{empirical_loss(tree.tree_, *train).mean():.3f}",
        f"{upper_bound(tree.tree_, *train).mean():.3f}",
        f"{seconds:.1f}",
    )


def _draw(tree, path):
    import matplotlib

    matplotlib.use("agg")  # a file, not a window: the demo also runs without a screen
    import matplotlib.pyplot as plt

    from ngdt.plotting import plot_history, plot_weights

    figure, axes = plt.subplots(
        1, 4, figsize=(12, 3), layout="constrained", width_ratios=(1, 1, 1, 1.6)
    )
    drawn = plot_weights(tree, shape=(8, 8), axes=axes[:3])
    for ax in axes[len(drawn) : 3]:  # a child of the root may be a leaf
        ax.set_axis_off()
    plot_history(tree, ax=axes[3])
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _picture(tree, path):
    try:
        import matplotlib  # noqa: F401  only whether it can be imported
    except ImportError:
        print(f'\nNo picture without matplotlib: python -m pip install "ngdt[plot]" ({path})')
        return
    _draw(tree, path)
    print(
        f"\nWrote {path}: the weights of the root and of its children (red pixels send an image to"
        "\nthe right, blue ones to the left), and loss and bound over the epochs."
    )


def demo(depth=6, seed=0, output="ngdt-demo.png", picture=True):
    """Train greedy and non-greedy trees of equal depth on scikit-learn's digits and compare them.

    Parameters
    ----------
    depth : int, default=6
        Depth of all trees.
    seed : int, default=0
        Seed of the split into training and test images, and of the training.
    output : str, default="ngdt-demo.png"
        Where the picture goes.
    picture : bool, default=True
        Whether to draw one.
    """
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
    print(
        f"Handwritten digits: {len(X_train)} images of 8 x 8 pixels to train on, {len(X_test)} to "
        f"test on.\nTrees of depth {depth}; loss and bound are means over the training images.\n"
    )
    width = max(map(len, METHODS))
    print(" " * width + "".join(f"{column:>9}" for column in COLUMNS))
    for name, parameters in METHODS.items():
        tree = ObliqueTreeClassifier(max_depth=depth, random_state=seed, **parameters)
        start = time.perf_counter()
        tree.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        row = _row(tree, (X_train, y_train), (X_test, y_test), seconds)
        print(f"{name:<{width}}" + "".join(f"{cell:>9}" for cell in row), flush=True)
    if picture:
        _picture(tree, output)


def _depth(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}")
    return int(text)


def _parser():
    parser = argparse.ArgumentParser(
        prog="ngdt", description="Oblique decision trees that are trained as a whole."
    )
    parser.add_argument("--version", action="version", version=f"ngdt {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    text = "compare greedy and non-greedy trees on scikit-learn's handwritten digits"
    command = commands.add_parser("demo", help=text, description=text.capitalize() + ".")
    command.add_argument("--depth", type=_depth, default=6, help="depth of the trees (default: 6)")
    command.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    command.add_argument(
        "--output",
        metavar="PATH",
        default="ngdt-demo.png",
        help="where the picture goes (default: ngdt-demo.png)",
    )
    command.add_argument(
        "--no-picture", dest="picture", action="store_false", help="do not draw a picture"
    )
    return parser


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    int
        0, the exit status. Wrong arguments end the process with 2 and a message.
    """
    parser = _parser()
    arguments = vars(parser.parse_args(argv))
    try:
        demo(**arguments)
    except (OSError, ValueError) as error:  # a seed of -1, a folder that is not there
        parser.exit(2, f"ngdt: error: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
