"""Compare trees, forests and models of scikit-learn on a table.

All models, or those of --models, are trained and tested on the same folds, with default parameters.
The report says how accurate they are, how large, and how fast. For classes, it also has the AUC of
two classes or the log loss of more. The forest takes most of the time.

  ngdt compare titanic.csv --target survived -o report.html
  ngdt compare titanic.csv -t survived --models tree pruned boosting linear
"""

import pickle
import warnings
from timeit import Timer

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from threadpoolctl import threadpool_limits

from ngdt._estimators.display import watching, within
from ngdt._util.numbers import aligned, count
from ngdt.cli._contenders import CONTENDERS
from ngdt.cli._models import size
from ngdt.cli._options import (
    Mistake,
    add_output_argument,
    add_training_arguments,
    labels,
    positive_int,
    task_of,
)
from ngdt.cli._report import write_report
from ngdt.cli._scores import Score, in_unit, interval, losses, probability_score, score
from ngdt.cli._tables import add_data_arguments, training_data

HELP = "compare models on a table, in an HTML report"


def add_arguments(parser):
    add_data_arguments(parser, target="column to predict")
    add_output_argument(
        parser, "report to write (default: report.html)", default="report.html")
    add_training_arguments(parser)
    parser.add_argument("--folds", type=positive_int, default=5, metavar="N",
                        help="number of folds of the cross-validation (default: 5)")
    parser.add_argument(
        "--models", nargs="+", choices=list(CONTENDERS), metavar="NAME",
        help=f"of: {', '.join(CONTENDERS)} (default: all)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the table only")


def run(arguments):
    data = training_data(arguments)
    task = arguments.task or task_of(data.y)
    X, y = data.X, labels(data.y, task)
    if not 2 <= arguments.folds <= len(y):
        raise Mistake(f"--folds must be from 2 to {len(y)}, the number of rows")
    classes, sizes = np.unique(y, return_counts=True)
    is_stratified = task == "classification" and sizes.max() >= arguments.folds
    folds = (StratifiedKFold if is_stratified else KFold)(
        arguments.folds, shuffle=True, random_state=arguments.random_state)
    usable = [name for name, each in CONTENDERS.items()
              if each.takes_sparse or not sparse.issparse(X)]
    names = [*dict.fromkeys(arguments.models or usable)]
    if not set(names) <= set(usable):
        raise Mistake(f"--models: of sparse data, these can be compared: {', '.join(usable)}")
    if not arguments.quiet:
        print(f"{data.path}: {count(len(y), 'row')}, {count(X.shape[1], 'column')}; {task}, "
              f"{arguments.folds} folds")
    models, rows, lost = {}, [], {}
    n_threads = effective_n_jobs(arguments.n_jobs)
    # scikit-learn takes all cores by default, ngdt one.
    with (watching(not arguments.quiet) as activity, warnings.catch_warnings(),
          threadpool_limits(n_threads)):
        warnings.simplefilter("ignore", ConvergenceWarning)     # of the linear model
        cost = sum(CONTENDERS[name].cost for name in names)
        for name in names:
            model = CONTENDERS[name].make(task, X, arguments)
            part = activity.part(CONTENDERS[name].cost / cost, name)
            try:
                lost[name], probable = _cross_validated(model, X, y, folds, task, part)
                models[name], seconds = _trained(
                    model, X, y, np.arange(len(y)), part.part(part.left, "on all rows"))
                rows.append(_row(name, models[name], seconds, X, y, lost, probable))
            except ValueError as error:
                if task == "regression" or sizes.min() > 1:
                    raise
                raise Mistake(
                    f"{data.path}: {name}: {str(error).rstrip('.')}. If that is because "
                    f"{arguments.target or 'y'} is {str(classes[sizes.argmin()])!r} in one row "
                    "only: leave this row out, give it another class, or choose other --models"
                ) from error
            part.finish()
    table = [[*rows[0]], *([*row.values()] for row in rows)]
    print(aligned(table))
    if "tree" in models:
        print(f"tree: {models['tree'].summary()}")
    write_report(arguments.output, data, task, arguments.folds, n_threads, models, table)
    print(f"wrote {arguments.output}")


def _cross_validated(model, X, y, folds, task, activity):
    """Loss of each row, by the model that has not seen it, and probabilities of the classes."""
    classes = np.unique(y) if task == "classification" else None
    # A class that the training rows lack has no probability.
    found = np.zeros(len(y) if classes is None else (len(y), len(classes)))
    rows, n_folds = getattr(X, "iloc", X), folds.get_n_splits()
    # The training on all rows warns of the same, with the numbers and examples of all rows.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, (train, test) in enumerate(folds.split(found, y), start=1):
            part = activity.part(1 / (n_folds + 1), f"fold {k} of {n_folds}")
            fitted, _ = _trained(model, X, y, train, part)
            if classes is None:
                found[test] = fitted.predict(rows[test])
            else:
                known = np.isin(classes, fitted.classes_)
                found[np.ix_(test, known)] = fitted.predict_proba(rows[test])
    if classes is None:
        return losses(y, found, False), None
    return losses(y, classes[found.argmax(axis=1)], True), found


def _trained(model, X, y, rows, activity):
    """The model, trained on some rows, and the seconds that it took."""
    # Within a cross-validation, Ctrl-C ends the command and not this training only.
    with within(activity):
        found = cross_validate(
            model, X, y, cv=[(rows, rows[:1])], return_estimator=True, error_score="raise",
            scoring=lambda model, X, y: 0.0)
    activity.finish()
    return found["estimator"][0], float(found["fit_time"][0])


def _row(name, model, seconds, X, y, lost, probable):
    """The numbers on a model as text, by their heads.

    Parameters
    ----------
    name : str
    model : estimator
        Trained on all samples.
    seconds : float
        That this took.
    X, y
        All samples.
    lost : dict of str to ndarray of shape (n_samples,)
        Losses of all models so far, the first of which it is compared with.
    probable : ndarray of shape (n_samples, n_classes), or None
        Probabilities of the classes, by cross-validation. None for regression.

    Returns
    -------
    dict of str to str
    """
    first, classifies = next(iter(lost)), probable is not None
    found, lead = score(y, lost[name], classifies), "-"
    if name != first:
        lead = _lead(y, lost[first], lost[name], classifies).text(unit="", sign="+")
    of_probabilities = probability_score(y, probable) if classifies else {}
    return {"": name, found.name: str(found), f"minus {first}": lead,
            **{head: f"{value:.3f}" for head, value in of_probabilities.items()},
            "leaves": str(CONTENDERS[name].leaves(model) or "-"),
            "size": size(len(pickle.dumps(model))), "seconds": f"{seconds:.2f}",
            "µs a row": f"{_microseconds(model, X):.2f}"}


def _lead(y, first, other, classifies):
    """Lead of a model over the first one, on the same rows."""
    if classifies:
        return Score("accuracy", *interval(
            lambda saved, axis: saved.mean(axis=axis), (first - other,)))
    return Score("R2", *interval(
        lambda saved, y, axis: saved.mean(axis=axis) / y.var(axis=axis),
        (first - other, in_unit(y))))


def _microseconds(model, X):
    return 1e6 * min(Timer(lambda: model.predict(X)).repeat(repeat=5, number=1)) / X.shape[0]
