"""Compare trees and forests on scikit-learn's handwritten digits."""

import pickle
from pathlib import Path
from time import perf_counter

from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier
from ngdt.cli._formats import image, pyplot, write
from ngdt.cli._options import add_output_argument, positive_int
from ngdt.plotting import plot_history, plot_weights

HELP = "compare trees and forests on scikit-learn's handwritten digits"

# The demo prints a line for each of them, and plots the last tree.
MODELS = {
    "greedy tree, one pixel in a split": ObliqueTreeClassifier(init="info_gain", optimizer=None),
    "greedy oblique tree (CO2)": ObliqueTreeClassifier(init="co2", optimizer=None),
    "tree chosen by default": ObliqueTreeClassifier(),
    "tree trained as a whole by Annealed": ObliqueTreeClassifier(optimizer="annealed"),
    "tree trained as a whole by SGD": ObliqueTreeClassifier(optimizer="sgd"),
    "tree trained as a whole by SSGD": ObliqueTreeClassifier(optimizer="ssgd"),
    "ten trees trained by Annealed": ObliqueForestClassifier(
        10, optimizer="annealed", leaf="constant"),
    "random forest of scikit-learn": RandomForestClassifier(),
}


def _picture(tree, path):
    try:
        plt = pyplot()
    except ImportError as error:
        print(f"\n{path} was not written: {error}")
        return
    figure, axes = plt.subplots(
        1, 4, figsize=(12, 3), layout="constrained", width_ratios=(1, 1, 1, 1.6))
    drawn = plot_weights(tree, (8, 8), ax=axes[:3])
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
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    print(
        f"Handwritten digits: {len(X_train)} images of 8 x 8 pixels to train on, {len(X_test)} to "
        f"test on.\nSingle trees have depth {arguments.max_depth} and constant leaves; "
        "kB is the size of a pickle.\n")
    width = max(map(len, MODELS))
    print(f"{'':<{width}}  train %   test %   leaves       kB  seconds")
    for name, model in MODELS.items():
        model = clone(model).set_params(random_state=0)
        if isinstance(model, ObliqueTreeClassifier):
            tree = model.set_params(max_depth=arguments.max_depth, leaf="constant")
        begin = perf_counter()
        model.fit(X_train, y_train)
        seconds = perf_counter() - begin
        train, test = 100 * model.score(X_train, y_train), 100 * model.score(X_test, y_test)
        n_leaves = sum(each.get_n_leaves() for each in getattr(model, "estimators_", [model]))
        print(f"{name:<{width}}{train:9.1f}{test:9.1f}{n_leaves:9}"
              f"{len(pickle.dumps(model)) / 1000:9.0f}{seconds:9.1f}", flush=True)
    _picture(tree, arguments.output)
