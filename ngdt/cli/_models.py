"""Load models, and say what they are."""

import math
from pathlib import Path

from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ngdt._core.tree import Tree
from ngdt._forest import ObliqueBoostingRegressor
from ngdt._forest.base import ObliqueForest
from ngdt._util.numbers import count
from ngdt._util.validation import did_you_mean
from ngdt.cli._options import FILES, Mistake
from ngdt.path import TAOPathCV
from ngdt.persistence import InvalidModelFile, load


def add_model_argument(parser):
    """The argument by which commands load a model.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    model = parser.add_argument("model", metavar="MODEL", help="file of `ngdt fit` or ngdt.save")
    model.complete = FILES


def load_model(path):
    """A fitted estimator.

    Parameters
    ----------
    path : str

    Returns
    -------
    estimator
    """
    if not Path(path).is_file():
        near = [each.name for each in Path(path).parent.glob("*.ngdt")]
        raise Mistake(f"{path}: there is no such model.{did_you_mean(Path(path).name, near)}")
    try:
        model = load(path)
    except InvalidModelFile as error:
        raise Mistake(f"{error}. `ngdt fit` and ngdt.save write model files") from error
    if isinstance(model, TAOPathCV):
        model = model.estimator_
    if isinstance(model, Tree):
        raise Mistake(f"{path} holds a Tree, which has no columns and no labels: save the fitted "
                      "estimator instead")
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise Mistake(f"{path}: {error}") from error
    return model


def is_forest(model):
    """Return whether a model has several trees."""
    return isinstance(model, ObliqueForest | ObliqueBoostingRegressor)


def estimators_of(model):
    """The estimators of the trees of a model, forest after forest."""
    if isinstance(model, ObliqueBoostingRegressor):
        return [tree for forest in model.estimators_ for tree in forest.estimators_]
    return model.estimators_ if is_forest(model) else [model]


def chosen_tree(model, number):
    """The estimator of one tree.

    Parameters
    ----------
    model : fitted estimator
    number : int or None
        From 1 on, for a forest.

    Returns
    -------
    estimator
    """
    if not is_forest(model):
        if number is not None:
            raise Mistake(f"--tree {number}: the model is a single tree")
        return model
    trees = estimators_of(model)
    if number is None:
        raise Mistake(
            f"the model is a forest: --tree 1 to --tree {len(trees)} choose a tree. As C, JSON or "
            "ONNX, ngdt export writes the whole forest")
    if not 1 <= number <= len(trees):
        raise Mistake(f"--tree must be from 1 to {len(trees)}, the trees of the forest")
    return trees[number - 1]


def n_leaves(model):
    """Number of leaves of a tree, or of all trees of a forest."""
    return sum(each.tree_.n_leaves for each in estimators_of(model))


def purpose(model):
    """Purpose of a model, in a sentence.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    str
    """
    what = count(len(model.classes_), "class", "classes") if is_classifier(model) else "numbers"
    return f"The model predicts {what}, from {count(model.n_features_in_, 'column')}."


def size(n_bytes):
    """A number of bytes, in units to read."""
    power = min(2, int(math.log(max(n_bytes, 1), 1000)))
    return f"{n_bytes / 1000**power:.{power and 1}f} {('bytes', 'kB', 'MB')[power]}"
