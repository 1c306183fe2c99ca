"""Load models, and say what they are."""

from sklearn.utils.validation import check_is_fitted

from ngdt._core.tree import Tree
from ngdt._forest import ObliqueBoostingRegressor
from ngdt._forest.base import ObliqueForest
from ngdt.cli._options import FILES, Mistake, check_is_there
from ngdt.path import TAOPathCV
from ngdt.persistence import load


def add_model_argument(parser):
    """The argument by which commands load a model."""
    model = parser.add_argument("model", metavar="MODEL", help="file of `ngdt fit` or ngdt.save")
    model.complete = FILES


def load_model(path):
    """The fitted estimator in a file."""
    check_is_there(path)
    model = load(path)
    if isinstance(model, TAOPathCV):
        model = model.estimator_
    if isinstance(model, Tree):
        raise Mistake(f"{path} holds a Tree, which has no columns and no labels: save the fitted "
                      "estimator instead")
    check_is_fitted(model)
    return model


def estimators_of(model):
    """The estimators of the trees of a model, forest after forest."""
    if isinstance(model, ObliqueBoostingRegressor):
        return [tree for forest in model.estimators_ for tree in forest.estimators_]
    return getattr(model, "estimators_", [model])


def chosen_tree(model, number):
    """The estimator of a tree, numbered from 1 on; None takes the only one."""
    trees = estimators_of(model)
    if number is None and len(trees) == 1:
        return trees[0]
    if number is None or number > len(trees):
        whole = ". As C, JSON or ONNX, ngdt export writes a whole forest"
        raise Mistake(f"--tree must be from 1 to {len(trees)}, a tree of the model"
                      f"{whole * isinstance(model, ObliqueForest)}")
    return trees[number - 1]


def size(n_bytes):
    """A number of bytes as text."""
    return f"{n_bytes / 1000:.1f} kB"
