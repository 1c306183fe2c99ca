"""Show a model: as text in the terminal, as a picture, or as a page whose branches fold.

  ngdt show titanic.ngdt
  ngdt show titanic.ngdt -o titanic.png
  ngdt show titanic.ngdt -o titanic.html
  ngdt show forest.ngdt --tree 3
"""

from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier

from ngdt._util.numbers import aligned, count
from ngdt._util.text import one_line
from ngdt.cli._formats import add_format_arguments, chosen_format, image, pyplot, write
from ngdt.cli._models import add_model_argument, chosen_tree, estimators_of, load_model
from ngdt.cli._options import positive_int
from ngdt.export import export_html, export_text
from ngdt.plotting import plot_tree

HELP = "print or draw a model"
# Number of columns that the summary of a forest names.
_N_COLUMNS = 8


def _text(model, arguments):
    if len(estimators_of(model)) > 1 and arguments.tree is None:
        return _forest(model)
    tree = chosen_tree(model, arguments.tree)
    rules = export_text(tree, n_terms=arguments.n_terms or "auto", max_depth=arguments.max_depth)
    return f"{tree.summary()}\n{_purpose(tree)}\n\n{rules}"


def _forest(model):
    """The columns that matter most in a forest."""
    found = model.feature_importances_
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(found))])
    lines = aligned([(one_line(str(names[j])), f"{100 * found[j]:.1f} %")
                     for j in np.argsort(-found, kind="stable")[:_N_COLUMNS]])
    return "\n".join([
        model.summary(), _purpose(model), "", "largest feature importances:", lines, "",
        f"--tree 1 to --tree {len(estimators_of(model))} show a tree."])


def _purpose(model):
    what = count(len(model.classes_), "class", "classes") if is_classifier(model) else "numbers"
    return f"The model predicts {what}, from {count(model.n_features_in_, 'column')}."


def _picture(kind, model, arguments):
    pyplot()
    tree = chosen_tree(model, arguments.tree)
    return image(plot_tree(tree, max_depth=arguments.max_depth or "auto").figure, kind)


def _page(model, arguments):
    return export_html(
        chosen_tree(model, arguments.tree), title=Path(arguments.model).stem,
        n_terms=arguments.n_terms or "auto", max_depth=arguments.max_depth)


FORMATS = {
    "text": (_text, (".txt",)),
    "html": (_page, (".html", ".htm")),
    "png": (partial(_picture, "png"), (".png",)),
    "svg": (partial(_picture, "svg"), (".svg",)),
    "pdf": (partial(_picture, "pdf"), (".pdf",)),
}


def add_arguments(parser):
    add_model_argument(parser)
    add_format_arguments(parser, FORMATS, "text")
    parser.add_argument("--tree", type=positive_int, metavar="N", help="tree of a forest, from 1")
    parser.add_argument("--max-depth", type=positive_int, metavar="N",
                        help="depth to show (default: all of it, but 3 in pictures of more than 8 "
                        "leaves)")
    parser.add_argument("--n-terms", type=positive_int, metavar="N",
                        help="text and pages: number of columns in each condition (default: 5 or "
                        "10, and all of a linear model)")


def run(arguments):
    chosen = chosen_format(arguments)
    write(chosen(load_model(arguments.model), arguments), arguments.output)
