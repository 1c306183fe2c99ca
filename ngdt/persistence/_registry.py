"""Classes of which a model consists, and descriptions of their objects.

An object is described by its class, by the arguments that its constructor takes, and, if it is an
estimator, by the attributes that it has beyond them. No other class is ever made from a file.
"""

from functools import cache
from inspect import signature

from sklearn.base import BaseEstimator

from ngdt._core.loss import Loss
from ngdt._core.quantiles import LeafQuantiles
from ngdt._core.scaling import Scaling
from ngdt._core.tree import Tree
from ngdt._encoding.categories import Categories
from ngdt._encoding.table import Table
from ngdt._encoding.targets import ClassTargets, RegressionTargets
from ngdt._estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._forest import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
)
from ngdt._inspection.sample_summary import SampleSummary
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt.deep import CNN, DeepTreeClassifier, DeepTreeRegressor
from ngdt.initializers import INITIALIZERS
from ngdt.losses import LOSSES
from ngdt.optimizers import OPTIMIZERS
from ngdt.path import TAOPathCV

# Classes of models that `save` takes.
MODELS = (
    Tree, ObliqueTreeClassifier, ObliqueTreeRegressor, ObliqueForestClassifier,
    ObliqueForestRegressor, ObliqueBoostingRegressor, TAOPathCV, DeepTreeClassifier,
    DeepTreeRegressor)

CLASSES = {each.__name__: each for each in (
    *MODELS, *LOSSES.values(), *INITIALIZERS.values(), SingleLeaf, *OPTIMIZERS.values(), Table,
    Categories, ClassTargets, RegressionTargets, SampleSummary, LeafQuantiles, Scaling,
    CNN)}

# Attributes of estimators that no file holds: callbacks and requests of metadata, of scikit-learn,
# and what `partial_fit` keeps between two calls, which belongs to one training.
_NOT_SAVED = {"_skl_callbacks", "_metadata_request", "_stream"}


@cache
def argument_names(type_):
    """Names of the arguments with which the constructor of a class makes an equal object.

    Objects have attributes of the same names.
    """
    if issubclass(type_, BaseEstimator):
        return type_._get_param_names()
    if issubclass(type_, Loss):
        return type_._parameters
    return list(signature(type_).parameters)


def arguments_of(thing):
    """Arguments with which the constructor makes an equal object."""
    found = {name: getattr(thing, name) for name in argument_names(type(thing))}
    # A callback and a checkpoint belong to one training, and most callbacks and networks are
    # functions, which a file cannot hold.
    return {name: None if name == "checkpoint" or (
        name in ("callback", "split", "trunk") and callable(value) and not isinstance(value, CNN))
        else value for name, value in found.items()}


def attributes_of(thing):
    """Attributes of a fitted estimator beyond its parameters, as a pickle has them; else none."""
    if not isinstance(thing, BaseEstimator):
        return {}
    parameters = argument_names(type(thing))
    return {name: value for name, value in thing.__getstate__().items()
            if name not in (*parameters, *_NOT_SAVED)}
