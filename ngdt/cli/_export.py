"""Write a model in the language of another program. `ngdt show` writes HTML and pictures.

  ngdt export titanic.ngdt -o titanic.sql --table passengers --columns passenger
  ngdt export wine.ngdt -o wine.c, and -o wine.h for its header
"""

from ngdt.cli._formats import add_format_arguments, chosen_format, write
from ngdt.cli._models import add_model_argument, chosen_tree, load_model
from ngdt.cli._options import positive_int
from ngdt.export import (
    export_c,
    export_graphviz,
    export_json,
    export_onnx,
    export_rules,
    export_sql,
    export_text,
)

HELP = "write a model as C, SQL, ONNX, JSON, rules or a graph"


def _c(model, arguments):
    header = arguments.output is not None and arguments.output.lower().endswith(".h")
    return export_c(
        model, name=arguments.name, dtype=arguments.dtype or "double", header=header)


FORMATS = {
    "c": (_c, (".c", ".h")),
    "sql": (lambda model, arguments: export_sql(
        chosen_tree(model, arguments.tree), table=arguments.table, columns=arguments.columns,
        proba=arguments.proba), (".sql",)),
    "json": (lambda model, _: export_json(model), (".json",)),
    "onnx": (lambda model, arguments: export_onnx(
        model, dtype=arguments.dtype or "float").SerializeToString(), (".onnx",)),
    "rules": (lambda model, arguments: "\n".join(map(str, export_rules(
        chosen_tree(model, arguments.tree), n_terms=None))), (".rules",)),
    "text": (lambda model, arguments: export_text(
        chosen_tree(model, arguments.tree), n_terms=None), (".txt",)),
    "dot": (lambda model, arguments: export_graphviz(
        chosen_tree(model, arguments.tree), filled=True, rounded=True), (".dot", ".gv")),
}


def add_arguments(parser):
    add_model_argument(parser)
    add_format_arguments(parser, FORMATS)
    parser.add_argument(
        "--tree", type=positive_int, metavar="N",
        help="tree of a forest, from 1; C, JSON and ONNX take the whole forest")
    parser.add_argument(
        "--table", default="data",
        help="SQL: name of the table, such as sales.people (default: data)")
    parser.add_argument(
        "--columns", metavar="COLUMN", nargs="+", default=[],
        help="SQL: columns of the table to select beside the prediction, such as a key")
    parser.add_argument(
        "--proba", action="store_true", help="SQL: also the probability of each class")
    parser.add_argument("--name", default="ngdt", help="C: prefix of all names (default: ngdt)")
    parser.add_argument("--dtype", choices=["double", "float"],
                        help="C, ONNX: type of numbers (default: double in C, float in ONNX)")


def run(arguments):
    chosen = chosen_format(arguments)
    write(chosen(load_model(arguments.model), arguments), arguments.output)
