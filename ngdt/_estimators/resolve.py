"""Resolve the parameters of an estimator to an initializer, optimizers and loss."""

from itertools import zip_longest
from math import ceil
from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ngdt._core.tree import Tree
from ngdt._encoding.columns import column_indices
from ngdt._methods.linear_leaves.linear_leaves import SETS_OF_FEATURES
from ngdt._selection.candidates import CONSTANT, Leaves
from ngdt._training.problem import Limits, Problem
from ngdt._training.size_limits import ROUNDING
from ngdt._util.validation import did_you_mean, error_prefix
from ngdt.initializers import INITIALIZERS, Initializer
from ngdt.losses import LOSSES, get_loss
from ngdt.optimizers import OPTIMIZERS, Annealed, Optimizer, Regrow, ShrinkLeaves


def resolve_loss(estimator):
    """The loss that the parameters of an estimator mean. It must fit the task."""
    given, classifies = estimator.loss, is_classifier(estimator)
    if isinstance(given, str) and given not in LOSSES:
        known = sorted(name for name, loss in LOSSES.items() if loss().is_classifier == classifies)
        raise ValueError(f"loss must be one of {known} or a Loss object, got {given!r}."
                         f"{did_you_mean(given, known)}")
    loss = get_loss(estimator._default_loss if given is None else given)
    if loss.is_classifier != classifies:
        task = "classification" if loss.is_classifier else "regression"
        raise ValueError(
            f"loss={estimator.loss!r} is for {task} and does not fit {type(estimator).__name__}: "
            f"use a {'classifier' if loss.is_classifier else 'regressor'}")
    return loss


def resolve_problem(estimator, X, targets, sample_weight, encoder):
    """The problem of encoded samples, with the limits that the parameters of an estimator set."""
    loss = resolve_loss(estimator)
    n_samples, max_depth = np.count_nonzero(sample_weight), estimator.max_depth
    leaf_share = float(estimator.min_weight_fraction_leaf)
    leaf_count = sample_count(estimator.min_samples_leaf, n_samples, 1)
    if leaf_share and not hasattr(estimator, "bootstrap"):  # samples that are drawn weigh more
        # Trees grow by numbers of samples: at least so many have that share of the weight.
        equal = sample_weight.sum() / sample_weight.max()
        leaf_count = max(leaf_count, ceil(leaf_share * equal * (1.0 - ROUNDING)))
    return Problem(
        X=X, y=loss.encode(targets, encoder.n_outputs), loss=loss, n_outputs=encoder.n_outputs,
        sample_weight=sample_weight, limits=Limits(
            # Products of integers of a few bits would overflow.
            None if max_depth is None or is_auto(max_depth) else int(max_depth),
            sample_count(estimator.min_samples_split, n_samples, 2),
            leaf_count,
            leaf_share,
            None if estimator.max_leaf_nodes is None else int(estimator.max_leaf_nodes),
            encoder.scale_impurity(estimator.min_impurity_decrease, loss),
            encoder.scale_impurity(estimator.ccp_alpha, loss)),
        standardize=estimator.standardize, random_state=seed_of(estimator),
        n_jobs=effective_n_jobs(estimator.n_jobs))


def resolve_given_tree(tree, problem, encoder):
    """A tree in the units of y, as the initial tree of a problem: checked, for encoded targets."""
    with error_prefix("init"):
        problem._check_shapes(tree)
    return encoder.scale_leaf_values(tree, problem.loss)


def resolve_leaves(estimator, table):
    """The leaves that an estimator asks for.

    "auto" means constant ones where something else than the default competes.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
    table : Table
        The encoding of X, for the features of columns that are given.

    Returns
    -------
    Leaves
    """
    is_default = is_auto(estimator.init) and is_auto(estimator.optimizer)
    if is_auto(estimator.leaf) and not is_default:
        return CONSTANT
    if isinstance(estimator.leaf, str):
        return Leaves(estimator.leaf)
    linear = clone(estimator.leaf)
    features = linear.features
    if not (isinstance(features, str) and features in SETS_OF_FEATURES):
        columns = column_indices(
            "features of leaf", features, list(table.names), SETS_OF_FEATURES)
        linear.features = np.flatnonzero(np.isin(table.column_of, columns))
    return Leaves("linear", linear)


def resolve_optimizers(estimator, leaves=CONSTANT, is_monotone=False):
    """The optimizers that the parameters of an estimator mean, in order.

    An object or a list is used as it is. A stochastic optimizer that is given by name, or is the
    default, is followed by `Regrow` and, for regression, by `ShrinkLeaves`. With ``leaf="linear"``,
    linear leaves come last.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
    leaves : Leaves, default=CONSTANT
    is_monotone : bool, default=False
        Whether leaves have no slopes of their own, as those of monotone trees.

    Returns
    -------
    list of Optimizer
    """
    if leaves.kind != "linear":
        return _resolve_constant(estimator)
    is_annealed = isinstance(estimator.optimizer, str) and estimator.optimizer == Annealed.name
    if is_annealed and not is_classifier(estimator) and not is_monotone:
        return [Annealed(leaf="linear"), leaves.linear]
    return [*_resolve_constant(estimator), leaves.linear]


def _resolve_constant(estimator):
    given = estimator.optimizer
    if given is None:
        return []
    if isinstance(given, (list, tuple)):
        if not given:
            raise ValueError(
                f"optimizer={given!r} has no optimizer: pass None to keep the initial tree")
        return [_named(f"optimizer[{i}]", item, OPTIMIZERS, Optimizer)
                for i, item in enumerate(given)]
    optimizer = _named("optimizer", "ssgd" if is_auto(given) else given, OPTIMIZERS, Optimizer)
    if not (isinstance(given, str) and optimizer.is_stochastic) or optimizer.takes_linear_leaves:
        return [optimizer]
    if is_classifier(estimator):
        return [optimizer, Regrow()]
    return [optimizer, Regrow(min_samples_leaf=5), ShrinkLeaves()]


def resolve_init(estimator, optimizers, fitted):
    """The initializer, or the initial tree, of the optimizers.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
    optimizers : list of Optimizer
    fitted : dict
        The fitted attributes that depend on X and y only.

    Returns
    -------
    Initializer or Tree
    """
    init = estimator.init
    if is_auto(init):
        return INITIALIZERS[optimizers[0].default_init if optimizers else "info_gain"]()
    if isinstance(init, FrozenEstimator):   # as in a search, which clones all other estimators
        init = init.estimator
    if hasattr(type(init), "cost_complexity_pruning_path"):     # a tree, of scikit-learn or ours
        check_is_fitted(init, msg=(
            "init=%(name)s is not fitted. (Cloning an estimator, as a grid search does, drops "
            "the fitted state of the estimators in it: pass the Tree instead.)"))
        _check_same_task(estimator, init, fitted.get("classes_"))
        _check_same_features(estimator, init, fitted["_table"])
        init = Tree.from_sklearn(init) if isinstance(init, BaseDecisionTree) else init.tree_
    return init if isinstance(init, Tree) else _named("init", init, INITIALIZERS, Initializer)


def cloned(estimator):
    """A clone with the same `init`: if that is fitted, a clone of it would not be."""
    return clone(estimator).set_params(init=estimator.init)


def _check_same_task(estimator, fitted, classes):
    of_init = getattr(fitted, "classes_", None)
    if is_classifier(fitted) != is_classifier(estimator) or not np.array_equal(of_init, classes):
        raise ValueError(
            f"init={type(fitted).__name__} with the classes {of_init} does not fit y with the "
            f"classes {classes}: pass a model of the same task and classes (None for regression)")


def _check_same_features(estimator, init, table):
    """Refuse a fitted tree whose features have other meanings than in the table.

    An array has no names to compare, and neither has a tree of scikit-learn of a table with text.
    """
    of_init = getattr(init, "_table", None)
    is_comparable = of_init is not None or len(table.features) == len(table.names)
    if is_comparable and hasattr(init, "feature_names_in_") and (
            hasattr(estimator, "feature_names_in_")):
        _check_same_names("columns", init.feature_names_in_, table.names)
    if of_init is not None and of_init.names == table.names:
        _check_same_names("categories or gaps", of_init.feature_names, table.feature_names)


def _check_same_names(what, before, now):
    for one, other in zip_longest(before, now):
        if one != other:
            raise ValueError(
                f"init was fitted to a table of other {what} than X: of the features, in their "
                f"order, the first that differs is {one!r} of init, {other!r} of X. Pass "
                "X[init.feature_names_in_], or init.encode(X) for other categories or gaps")


def check_has_optimizer(estimator):
    """Return True if there is an optimizer, which `partial_fit` continues, or say so."""
    if estimator.optimizer is None:
        raise AttributeError(
            f"{type(estimator).__name__} has no partial_fit with optimizer=None: it continues an "
            "optimizer, such as 'ssgd'")
    return True


def sample_count(given, n_samples, least):
    """A number of samples, from a number or a share of all samples."""
    return int(given) if isinstance(given, Integral) else max(least, ceil(given * n_samples))


def seed_of(estimator):
    """Return a seed that is drawn from the random state of an estimator, int."""
    return int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))


def is_auto(value):
    """Return whether a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


def _named(parameter, value, registry, base):
    """The algorithm that a parameter means: an object, or the one of this name."""
    if isinstance(value, base):
        return value
    if isinstance(value, str) and value in registry:
        return registry[value]()
    auto = [] if parameter.endswith("]") else ["auto"]      # which no item of a list may be
    none = "None, " * (parameter == "optimizer")
    what = f"an {base.__name__} object{' or a fitted tree' * (base is Initializer)}"
    raise (ValueError if isinstance(value, str) else TypeError)(
        f"{parameter} must be {''.join(f'{each!r}, ' for each in auto)}{none}one of "
        f"{list(registry)}, or {what}, got {value!r}."
        f"{did_you_mean(value, [*registry, *auto])}")
