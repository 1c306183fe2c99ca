"""Predict for the rows of a table.

Columns are found by their names; others are ignored. With --target, the predictions are also
compared with that column.

  ngdt predict titanic.ngdt new.csv -o predictions.csv --columns passenger
  ngdt predict titanic.ngdt new.csv --proba | head
"""

import sys
from io import BytesIO

import numpy as np
from sklearn.base import is_classifier

from ngdt.cli._formats import add_format_arguments, chosen_format, write
from ngdt.cli._models import add_model_argument, estimators_of, load_model
from ngdt.cli._options import Mistake, labels
from ngdt.cli._scores import losses, score
from ngdt.cli._tables import add_data_arguments, has_text_classes, import_pandas, samples_for

HELP = "predict for the rows of a table"


def _feather(frame, _):
    file = BytesIO()
    frame.to_feather(file)
    return file.getvalue()


FORMATS = {
    "csv": (lambda frame, _: frame.to_csv(index=False, lineterminator="\n"), (".csv",)),
    "parquet": (lambda frame, _: frame.to_parquet(), (".parquet",)),
    "feather": (_feather, (".feather",)),
}


def add_arguments(parser):
    add_model_argument(parser)
    add_data_arguments(parser, target="column of the true values, to score the predictions")
    add_format_arguments(parser, FORMATS, "csv")
    parser.add_argument(
        "--proba", action="store_true", help="also write the probability of each class")
    parser.add_argument(
        "--columns", metavar="COLUMN", nargs="+", default=[],
        help="columns of DATA to write beside the predictions, such as a key")


def run(arguments):
    chosen = chosen_format(arguments)
    model = load_model(arguments.model)
    classifies = is_classifier(model)
    if arguments.proba and not classifies:
        raise Mistake("--proba: a model for regression has no probabilities of classes")
    if arguments.target is not None and model.n_outputs_ > 1:
        raise Mistake(f"--target: predictions of {model.n_outputs_} targets are not scored")
    data = samples_for(model, arguments)
    y, is_known = (None, None) if data.y is None else _true_values(
        data.y, model, arguments.target)
    frame = _predictions(model, data.X, arguments.proba)
    if arguments.columns:
        frame = import_pandas().concat([data.beside, frame], axis=1)
        repeated = frame.columns[frame.columns.duplicated()]
        if len(repeated):
            raise Mistake(f"--columns: the result would have two columns {str(repeated[0])!r}")
    write(chosen(frame, arguments), arguments.output)
    if y is not None:
        lost = losses(y, frame["prediction"][is_known], classifies)
        found = score(y, lost, classifies)
        missing = f" ({(~is_known).sum()} without a target)" if not is_known.all() else ""
        print(f"{found.name} on {len(y)} rows{missing}: {found}", file=sys.stderr)


def _true_values(y, model, target):
    """The targets that are not missing, as the model predicts them, and which those are."""
    series = import_pandas().Series(np.asarray(y))
    is_known = series.notna().to_numpy()
    values = series[is_known].infer_objects()
    if not len(values):
        raise Mistake(f"--target: {target!r} is missing in all rows")
    if not is_classifier(model):
        return labels(values, "regression"), is_known
    found = labels(values, "classification")
    if has_text_classes(model):
        return found.astype(str), is_known
    if found.dtype.kind not in "iufb":
        raise Mistake(
            f"--target: the classes of the model are numbers, such as {model.classes_[0]}, but "
            f"there is {str(found[0])!r}")
    return found, is_known


def _predictions(model, X, with_probabilities):
    pandas = import_pandas()
    predictions = model.predict(X)
    if predictions.ndim == 2:
        names = estimators_of(model)[0]._targets.names or range(predictions.shape[1])
        return pandas.DataFrame(predictions, columns=[f"prediction_{name}" for name in names])
    columns = {"prediction": predictions}
    if with_probabilities:
        columns |= {f"probability_{label}": values for label, values in zip(
            model.classes_, np.transpose(model.predict_proba(X)), strict=True)}
    return pandas.DataFrame(columns)
