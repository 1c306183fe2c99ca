"""Compare greedy and non-greedy trees on scikit-learn's handwritten digits."""

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.cli._errors import Mistake
from ngdt.cli._options import add_output_argument, check_output, positive_int
from ngdt.cli._pictures import pyplot
from ngdt.inference import empirical_loss, upper_bound
from ngdt.plotting import plot_history, plot_weights

HELP = "compare greedy and non-greedy trees on scikit-learn's handwritten digits"

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
    plt = pyplot()
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
        _draw(tree, path)
    except Mistake as error:
        print(f"\n{path} was not written: {error}")
        return
    print(
        f"\nWrote {path}: the weights of the root and of its children as images (bright pixels send"
        "\nan image to the right where they are red and to the left where they are blue), and the"
        "\ntraining loss and its upper bound over the epochs."
    )


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
        check_output(output)
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


def add_arguments(parser):
    parser.add_argument(
        "--depth", type=positive_int, default=6, help="depth of the trees (default: 6)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    add_output_argument(
        parser, "path of the plot (default: ngdt-demo.png)", default="ngdt-demo.png")
    parser.add_argument(
        "--no-picture", dest="picture", action="store_false", help="do not write a plot")


def run(arguments):
    demo(arguments.depth, arguments.seed, arguments.output, arguments.picture)
