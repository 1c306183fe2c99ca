"""The ``ngdt`` command. ``ngdt demo`` compares greedy and non-greedy trees within a minute."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier, __version__
from ngdt.inference import empirical_loss, upper_bound

# The demo prints a line for each of them, and plots the last one.
METHODS = {
    "greedy, axis-aligned splits": {"init": "info_gain", "optimizer": None},
    "greedy, oblique splits (CO2)": {"init": "co2", "optimizer": None},
    "non-greedy, the default": {},
    "non-greedy, soft training": {"optimizer": "annealed"},
    "non-greedy, SGD": {"optimizer": "sgd"},
    "non-greedy, SSGD": {"optimizer": "ssgd"},
}
COLUMNS = ("train %", "test %", "leaves", "loss", "bound", "seconds")


def _row(tree, train, test, seconds):
    """Cells of a line of the table."""
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

    matplotlib.use("agg")  # writes to files, also without a display
    import matplotlib.pyplot as plt

    from ngdt.plotting import plot_history, plot_weights

    figure, axes = plt.subplots(
        1, 4, figsize=(12, 3), layout="constrained", width_ratios=(1, 1, 1, 1.6)
    )
    drawn = plot_weights(tree, shape=(8, 8), axes=axes[:3])
    for ax in axes[len(drawn) : 3]:  # children of the root that are leaves
        ax.set_axis_off()
    plot_history(tree, ax=axes[3])
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _picture(tree, path):
    try:
        import matplotlib  # noqa: F401  only whether it can be imported
    except ImportError:
        print(
            f'\n{path} was not written: plots need matplotlib, python -m pip install "ngdt[plot]"')
        return
    _draw(tree, path)
    print(
        f"\nWrote {path}: the weights of the root and of its children as images (bright pixels send"
        "\nan image to the right where they are red and to the left where they are blue), and the"
        "\ntraining loss and its upper bound over the epochs."
    )


def _check_output(path):
    """Raise before the training if the plot could not be written after it."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"output must be in a folder that exists, got {str(path)!r}: create {str(folder)!r} or "
            "choose another path")
    if Path(path).is_dir():
        raise IsADirectoryError(f"output must be the path of a file, got the folder {str(path)!r}")


def demo(depth=6, seed=0, output="ngdt-demo.png", picture=True):
    """Compare greedy and non-greedy trees of equal depth on scikit-learn's digits.

    Parameters
    ----------
    depth : int, default=6
        Depth of all trees.
    seed : int, default=0
        Seed of the split into training and test images, and of the training.
    output : str, default="ngdt-demo.png"
        Path of the plot.
    picture : bool, default=True
        Whether to write a plot.
    """
    if picture:
        _check_output(output)
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
    print(
        f"Handwritten digits: {len(X_train)} images of 8 x 8 pixels to train on, {len(X_test)} to "
        f"test on.\nTrees of depth {depth}; loss and bound are means over the training images.\n"
    )
    width = max(map(len, METHODS))
    print(" " * width + "".join(f"{column:>9}" for column in COLUMNS))
    for name, parameters in METHODS.items():
        tree = ObliqueTreeClassifier(       # the bound is one of constant leaves
            max_depth=depth, leaf="constant", random_state=seed, **parameters)
        start = time.perf_counter()
        tree.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        row = _row(tree, (X_train, y_train), (X_test, y_test), seconds)
        print(f"{name:<{width}}" + "".join(f"{cell:>9}" for cell in row), flush=True)
    if picture:
        _picture(tree, output)


def _depth(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text}")
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
        help="path of the plot (default: ngdt-demo.png)",
    )
    command.add_argument(
        "--no-picture", dest="picture", action="store_false", help="do not write a plot"
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
