"""Train a tree or a forest on a table, and save it.

  ngdt fit titanic.csv --target survived -o titanic.ngdt
  ngdt fit titanic.csv -t survived --model forest --test-size 0.25 -o titanic.ngdt
  ngdt fit houses.parquet -t price --set max_depth=4 leaf=linear
"""

from pathlib import Path

from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split

from ngdt._util.container import check_replaceable
from ngdt._util.numbers import count
from ngdt.cli._models import size
from ngdt.cli._options import (
    add_output_argument,
    add_training_arguments,
    labels,
    make_estimator,
    share,
    task_of,
)
from ngdt.cli._scores import losses, score
from ngdt.cli._tables import add_data_arguments, training_data
from ngdt.persistence import save

HELP = "train a tree or a forest on a table"


def add_arguments(parser):
    add_data_arguments(parser, target="column to predict")
    parser.add_argument("-m", "--model", choices=["tree", "forest"], default="tree",
                        help="what to train (default: tree)")
    add_output_argument(
        parser, "where to save the model (default: model.ngdt)", default="model.ngdt")
    add_training_arguments(parser)
    parser.add_argument(
        "--test-size", metavar="SHARE", type=share,
        help="share of the rows to hold out and score the model on, such as 0.25")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", nargs="+", default=[], dest="settings",
        help="parameters of the estimator, such as max_depth=4 or optimizer=tao")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but warnings")


def run(arguments):
    check_replaceable(Path(arguments.output))     # before the training
    data = training_data(arguments)
    task = arguments.task or task_of(data.y)
    y = labels(data.y, task)
    estimator = make_estimator(
        arguments.model, task, arguments, arguments.settings, verbose=int(not arguments.quiet))
    X_train, X_test, y_train, y_test = data.X, None, y, None
    if arguments.test_size is not None:
        X_train, X_test, y_train, y_test = train_test_split(
            data.X, y, test_size=arguments.test_size, random_state=arguments.random_state)
    say = (lambda text: None) if arguments.quiet else print
    n_classes = f" of {len(set(y.tolist()))} classes" if task == "classification" else ""
    say(f"{data.path}: {count(len(y), 'row')}, {count(data.X.shape[1], 'column')}; "
        f"{task}{n_classes}")
    estimator.fit(X_train, y_train)
    save(estimator, arguments.output)
    say(f"{arguments.output}: {size(Path(arguments.output).stat().st_size)}")
    if y_test is not None:
        lost = losses(y_test, estimator.predict(X_test), is_classifier(estimator))
        found = score(y_test, lost, is_classifier(estimator))
        say(f"{found.name} on {len(y_test)} rows that were held out: {found}")
