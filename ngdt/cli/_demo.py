"""Compare trees and forests on scikit-learn's handwritten digits."""

import pickle
import time
from pathlib import Path

from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier
from ngdt.cli._formats import image, pyplot, write
from ngdt.cli._options import add_output_argument, check_output, positive_int
from ngdt.plotting import plot_history, plot_weights

HELP = "compare trees and forests on scikit-learn's handwritten digits"

# Trees: the demo prints a line for each of them, and plots the last one.
METHODS = {
    "greedy tree, one pixel in a split": {"init": "info_gain", "optimizer": None},
    "greedy oblique tree (CO2)": {"init": "co2", "optimizer": None},
    "tree chosen by default": {},
    "tree trained as a whole by Annealed": {"optimizer": "annealed"},
    "tree trained as a whole by SGD": {"optimizer": "sgd"},
    "tree trained as a whole by SSGD": {"optimizer": "ssgd"},
}
FORESTS = {
    "ten trees trained by Annealed": ObliqueForestClassifier(
        10, optimizer="annealed", leaf="constant"),
    "random forest of scikit-learn": RandomForestClassifier(),
}


def _print_row(name, model, train, test):
    """Train a model, and print its line of the table."""
    start = time.perf_counter()
    model.fit(*train)
    seconds = time.perf_counter() - start
    leaves = sum(tree.get_n_leaves() for tree in getattr(model, "estimators_", [model]))
    _print_cells(
        name, f"{100 * model.score(*train):.1f}", f"{100 * model.score(*test):.1f}", leaves,
        f"{len(pickle.dumps(model)) / 1000:.0f}", f"{seconds:.1f}")


def _print_cells(name, *cells):
    width = max(map(len, [*METHODS, *FORESTS]))
    print(f"{name:<{width}}" + "".join(f"{cell:>9}" for cell in cells), flush=True)


def _picture(tree, path):
    try:
        plt = pyplot()
    except ImportError as error:
        print(f"\n{path} was not written: {error}")
        return
    figure, axes = plt.subplots(
        1, 4, figsize=(12, 3), layout="constrained", width_ratios=(1, 1, 1, 1.6))
    drawn = plot_weights(tree, image_shape=(8, 8), ax=axes[:3])
    for ax in axes[len(drawn) : 3]:  # children of the root that are leaves
        ax.set_axis_off()
    axes[0].set_xlabel("red pixels: to the right, blue: to the left", fontsize=9)
    plot_history(tree, ax=axes[3])
    write(image(figure, Path(path).suffix[1:] or "png"), path)

    print(f"\nWrote {path}: weights of the root and of its children as images, and the loss and "
          "its upper bound over the epochs.")


def add_arguments(parser):
    parser.add_argument("--max-depth", metavar="N", type=positive_int, default=6,
                        help="depth of the trees (default: 6)")
    add_output_argument(
        parser, "path of the plot (default: ngdt-demo.png)", default="ngdt-demo.png")


def run(arguments):
    check_output(arguments.output)
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    train, test = (X_train, y_train), (X_test, y_test)
    print(
        f"Handwritten digits: {len(X_train)} images of 8 x 8 pixels to train on, {len(X_test)} to "
        f"test on.\nSingle trees have depth {arguments.max_depth} and constant leaves; "
        "kB is the size of a pickle.\n")
    _print_cells("", "train %", "test %", "leaves", "kB", "seconds")
    for name, parameters in METHODS.items():
        tree = ObliqueTreeClassifier(
            max_depth=arguments.max_depth, leaf="constant", random_state=0, **parameters)
        _print_row(name, tree, train, test)
    for name, forest in FORESTS.items():
        _print_row(name, clone(forest).set_params(random_state=0), train, test)
    _picture(tree, arguments.output)
