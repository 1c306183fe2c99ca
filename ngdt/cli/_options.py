"""Arguments that several commands share, and how they become estimators."""

import argparse
import ast
import os
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from ngdt._util.validation import did_you_mean, error_prefix
from ngdt.initializers import INITIALIZERS
from ngdt.losses import LOSSES
from ngdt.optimizers import OPTIMIZERS

ESTIMATORS = {
    ("tree", "classification"): ObliqueTreeClassifier,
    ("tree", "regression"): ObliqueTreeRegressor,
    ("forest", "classification"): ObliqueForestClassifier,
    ("forest", "regression"): ObliqueForestRegressor,
}
# Parameters that may be named objects, which have parameters of their own.
_NAMED = {"init": INITIALIZERS, "optimizer": OPTIMIZERS, "loss": LOSSES}
# What shells complete an argument with that is a path.
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
# Largest number of different whole numbers that are taken for classes.
MAX_CLASSES = 10


class Mistake(Exception):
    """The mistake of the user, and the way out, in one line: it ends the command with code 2."""


def positive_int(text):
    """An argument that is an integer of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text}")
    return int(text)


def share(text):
    """An argument that is a number between 0 and 1."""
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, such as 0.25, got {text}")
    return number


def add_output_argument(parser, text, **options):
    """The argument of the file that is written, with its help and options of `add_argument`."""
    output = parser.add_argument("-o", "--output", metavar="FILE", help=text, **options)
    output.complete = FILES


def add_training_arguments(parser):
    """The arguments of commands that train."""
    parser.add_argument(
        "--task", choices=["classification", "regression"],
        help=f"by default, classification for text and for up to {MAX_CLASSES} whole numbers")
    parser.add_argument(
        "--drop", metavar="COLUMN", nargs="+", default=[], help="columns to leave out")
    parser.add_argument(
        "--categorical", metavar="COLUMN", nargs="+", default=[],
        help="columns of numbers that are categories; columns of text are anyway")
    parser.add_argument("--max-time", metavar="SECONDS", type=float,
                        help="time that each training may take")
    parser.add_argument("--random-state", metavar="SEED", type=int, default=0,
                        help="random seed (default: 0)")
    parser.add_argument(
        "--n-jobs", metavar="N", type=int,
        help="number of threads (default: 1); -1 takes all cores")


def check_output(path):
    """Raise before the work if its result could not be written after it."""
    if Path(path).is_dir() or not Path(path).parent.is_dir():
        raise Mistake(
            f"output must be a file in a folder that exists, got {path!r}: create the folder, or "
            "choose another path")
    target = Path(os.path.realpath(path))       # of a link, such as /dev/stdout
    is_special = target.exists() and not target.is_file()     # a pipe or a device is not replaced
    if not os.access(target if is_special else target.parent, os.W_OK):
        raise Mistake(f"output: you may not write {path!r}: choose another path")


def check_is_there(path):
    """Raise with a hint at the closest file of the folder unless a file is there."""
    path = Path(path)
    if not path.exists() or path.is_dir():
        near = [each.name for each in path.parent.glob("*") if each.is_file()]
        raise Mistake(f"{path}: there is no such file.{did_you_mean(path.name, near)}")


def task_of(y):
    """The task of a target: classification or regression."""
    values = np.asarray(y)
    if values.dtype.kind not in "iuf":
        return "classification"
    distinct = np.unique(values)
    few = len(distinct) <= MAX_CLASSES and _are_whole(distinct)
    return "classification" if few else "regression"


def labels(y, task):
    """Targets as the estimators take them: classes that are whole numbers as integers."""
    if y.dtype.kind in "Mm":    # whose text depends on the other rows
        raise Mistake("the target holds dates or times: convert them to numbers, such as the days "
                      "since a date, or to names of classes")
    values = np.asarray(y)
    if task == "regression":
        with error_prefix("the target of a regression must be numbers"):
            return values.astype(np.float64)
    # Larger ones do not fit integers, and scikit-learn takes no other floats for classes.
    if values.dtype.kind == "f" and _are_whole(values):
        return values.astype(np.int64 if np.abs(values).max() < 2.0**63 else str)
    return values.astype(str) if values.dtype.kind not in "iufb" else values


def _are_whole(values):
    """Return whether all numbers are whole ones; infinity is none."""
    with np.errstate(invalid="ignore"):
        return not np.mod(values, 1).any()


def make_estimator(kind, task, arguments, settings=(), verbose=0):
    """An estimator with the parameters that the arguments say.

    Parameters
    ----------
    kind : {"tree", "forest"}
    task : {"classification", "regression"}
    arguments : argparse.Namespace
        With the arguments of `add_training_arguments`.
    settings : sequence of str, default=()
        Further parameters, as NAME=VALUE.
    verbose : int, default=0
        Unless the settings say it.

    Returns
    -------
    estimator
    """
    estimator = ESTIMATORS[kind, task](
        max_time=arguments.max_time, random_state=arguments.random_state, n_jobs=arguments.n_jobs,
        verbose=verbose)
    known = estimator.get_params()
    given, inner = {}, defaultdict(dict)
    for setting in settings:
        name, separator, value = setting.partition("=")
        outer, _, own = name.partition("__")
        if not separator or outer not in known:
            hint = did_you_mean(name, known) or f" The parameters are {', '.join(known)}"
            raise Mistake(
                f"--set takes NAME=VALUE with a parameter of {type(estimator).__name__}, got "
                f"{setting!r}.{hint if outer not in known else ''}")
        if re.match(r"[\w.]+\(", value):        # as the summary advises for Python
            raise Mistake(
                f"--set {setting}: name an algorithm, and set its parameters apart, as in --set "
                "optimizer=tao optimizer__C=0.1")
        (inner[outer] if own else given)[own or name] = _value(value)
    for name, parameters in inner.items():
        named = _NAMED.get(name, {}).get(str(given.get(name)))
        if named is None:
            raise Mistake(
                f"--set {name}__...: only an algorithm or a loss has parameters of its own, and it "
                "has to be named, as in --set optimizer=tao optimizer__C=0.1")
        # Of algorithms, this names the parameters that there are.
        given[name] = named().set_params(**parameters) if hasattr(named, "set_params") else (
            named(**parameters))
    return estimator.set_params(**given)


def _value(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text     # a name, such as tao
