"""Explain predictions: why they are as they are, and what would change them.

  ngdt explain titanic.ngdt titanic.csv --row 1 5
  ngdt explain titanic.ngdt titanic.csv --row 5 -o row5.png
"""

from sklearn.utils import _safe_indexing

from ngdt.cli._formats import add_format_arguments, chosen_format, image, pyplot, write
from ngdt.cli._models import add_model_argument, load_model
from ngdt.cli._options import Mistake, positive_int
from ngdt.cli._tables import add_data_arguments, samples_for
from ngdt.plotting import plot_explanation

HELP = "say why rows of a table are predicted as they are"


def _text(explanations, arguments):
    return "\n\n".join(
        f"row {row}\n{explanation.text(arguments.n_terms)}"
        for row, explanation in zip(arguments.row, explanations, strict=True))


def _png(explanations, arguments):
    if len(explanations) > 1:
        raise Mistake("a picture shows one row: give --row a single number")
    plt = pyplot()
    (explanation,) = explanations
    plot_explanation(explanation, n_terms=arguments.n_terms)
    return image(plt.gcf())     # not of its axes: of a single leaf, there are none


FORMATS = {"text": (_text, (".txt",)), "png": (_png, (".png",))}


def add_arguments(parser):
    add_model_argument(parser)
    add_data_arguments(parser)
    parser.add_argument(
        "--row", type=positive_int, nargs="+", default=[1], metavar="N",
        help="rows to explain; the first is 1 (default: 1)")
    parser.add_argument("--n-terms", type=positive_int, metavar="N", default=3,
                        help="number of columns in each sum (default: 3)")
    add_format_arguments(parser, FORMATS, "text")


def run(arguments):
    chosen = chosen_format(arguments)
    model = load_model(arguments.model)
    if not hasattr(model, "explain"):
        raise Mistake(
            f"{arguments.model}: {type(model).__name__} does not explain its predictions; oblique "
            "trees and forests do")
    X = samples_for(model, arguments).X
    if max(arguments.row) > X.shape[0]:
        raise Mistake(
            f"--row {max(arguments.row)}: {arguments.data} has {X.shape[0]} rows")
    rows = _safe_indexing(X, [row - 1 for row in arguments.row])
    write(chosen(model.explain(rows), arguments), arguments.output)
