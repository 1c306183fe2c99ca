"""Base class of the estimators of trees whose splits are networks."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ngdt._core.tree import Tree
from ngdt._core.winsorize import winsorized
from ngdt._encoding.check import check_table
from ngdt._encoding.check_targets import check_targets
from ngdt._estimators.data import TableEstimator
from ngdt._estimators.resolve import resolve_problem
from ngdt._estimators.run import running
from ngdt._training.far_targets import warn_of_far_targets
from ngdt._util.numbers import count
from ngdt._util.validation import (
    COUNT,
    COUNT_OR_ZERO,
    HasParameters,
    check_weight,
    takes_only_its_parameters,
)
from ngdt.deep._cnn import linear, with_torch
from ngdt.optimizers import Annealed, EndToEnd

# Defaults of annealed training for networks; other defaults are for few weights of one layer.
_FOR_NETWORKS = {"learning_rate": 0.003, "weight_decay": 0.0}
# Parameters of the optimizers that the training of networks reads.
_OF_NETWORKS = {"batch_size", "epochs", "gamma", "gamma_step", "learning_rate", "pseudo_count", "q",
                "steps", "weight_decay"}


@dataclass(eq=False, repr=False)
class DeepTree(HasParameters, BaseEstimator):
    """Base class of the estimators."""

    _doc_link_module = "ngdt"
    _doc_link_template = (
        "https://ngdt.readthedocs.io/en/latest/api/generated/ngdt.deep.{estimator_name}.html")
    # Parameters of other estimators.
    loss = class_weight = None
    min_samples_split, min_weight_fraction_leaf, min_impurity_decrease, ccp_alpha = 2, 0.0, 0.0, 0.0
    _check_y_params: ClassVar[dict] = {}

    _parameter_constraints: ClassVar[dict] = {
        "split": [StrOptions({"linear"}), callable, None],
        "trunk": [callable, None],
        "input_shape": [tuple, None],
        "max_depth": [COUNT_OR_ZERO, None],
        "max_leaf_nodes": [COUNT],
        "min_samples_leaf": [COUNT],
        "init": [StrOptions({"auto", "greedy", "balanced"})],
        "stump": [Annealed, EndToEnd, None],
        "optimizer": [StrOptions({"annealed", "end_to_end"}), Annealed, EndToEnd, None],
        "callback": [callable, None],
        **{name: TableEstimator._parameter_constraints[name] for name in (
            "standardize", "n_jobs", "verbose", "random_state")},
    }

    split: str | Callable | None = "linear"
    _: KW_ONLY
    trunk: Callable | None = None
    input_shape: tuple | None = None
    max_depth: int | None = None
    max_leaf_nodes: int = 16
    min_samples_leaf: int = 1
    init: str = "auto"
    stump: Annealed | EndToEnd | None = None
    optimizer: str | Annealed | EndToEnd | None = "annealed"
    standardize: bool | str = "auto"
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable | None = None
    random_state: int | np.random.RandomState | None = None

    @takes_only_its_parameters
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None):
        """Train a tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; samples of weight zero are ignored.

        Returns
        -------
        self : object
            The fitted estimator. If `fit` fails, the estimator is unchanged.

        Raises
        ------
        ImportError
            If PyTorch is not installed.

        Warns
        -----
        ConvergenceWarning
            If Ctrl-C ended the training. The tree is then the one so far. Before there is a split,
            Ctrl-C raises KeyboardInterrupt.
        """
        torch_part = with_torch("ngdt.deep._torch.fit")
        with running(self) as run:
            problem, run.fitted = self._checked_problem(X, y, sample_weight, run.control)
            optimizer, stump = self._optimizers(problem)
            run.problem, run.result = problem, torch_part.fit_tree(
                problem, self._inputs(problem.X, problem.scaling),
                linear if self.split == "linear" else self.split, self.trunk, optimizer, stump)
            run.interrupted = run.result.interrupted
        run.warn()
        return self

    def _set_fitted(self, run):
        found, problem = run.result, run.problem
        vars(self).update(run.fitted | {
            "_scaling": problem.scaling, "weights_": found.weights, "history_": found.history,
            "n_iter_": len(found.history.get("loss", ())),
            "tree_": run.fitted["_targets"].unscale_leaf_values(found.tree, problem.loss)})

    def _cut_message(self, by_user):
        return (f"Training was interrupted after {count(self.n_iter_, 'epoch')}; tree_ is the tree "
                "so far.")

    def _checked_problem(self, X, y, sample_weight, control):
        X = self._rows(X)
        self._check_input_shape(X.shape[1])
        y = check_targets(self, y, **self._check_y_params)
        check_consistent_length(X, y)
        sample_weight = check_weight(sample_weight, len(X))
        fitted, targets, sample_weight = self._encode_targets(y, sample_weight, False, None)
        problem = resolve_problem(self, X, targets, sample_weight, fitted["_targets"])
        warn_of_far_targets(problem, fitted["_targets"])
        return problem.replace(control=control), fitted

    def _rows(self, X, reset=True):
        shape = getattr(X, "shape", ())
        if len(shape) > 2:
            image = tuple(shape[1:]) if len(shape) > 3 else (1, *shape[1:])
            raise ValueError(
                f"X has shape {tuple(shape)}, but must have one row of numbers for each sample: "
                f"pass X.reshape(len(X), -1), and set input_shape={image}")
        if sparse.issparse(X):
            raise TypeError("X is sparse, but networks need dense samples: pass X.toarray()")
        raw, names, categorical = check_table(self, X, "from_dtype", reset=reset)
        names = names or [f"x{j}" for j in range(self.n_features_in_)]
        if len(categorical):
            raise TypeError(
                f"X: column {names[categorical[0]]!r} holds categories, but networks need numbers: "
                "encode it, as sklearn.preprocessing.OneHotEncoder does")
        is_bad = ~np.isfinite(raw.numbers).all(axis=0)
        if is_bad.any():
            raise ValueError(
                f"Input X contains NaN or infinity, in column {names[is_bad.argmax()]!r}, but "
                "networks need numbers: fill gaps, as sklearn.impute.SimpleImputer does")
        return np.ascontiguousarray(raw.numbers)

    def _check_input_shape(self, n_features):
        shape = self.input_shape
        if shape is not None and not (
                all(isinstance(size, Integral) and size > 0 for size in shape)
                and np.prod(shape) == n_features):
            raise ValueError(
                f"input_shape={shape} does not hold the {n_features} features of X: the product of "
                f"its sizes must be {n_features}")

    def _optimizers(self, problem):
        """The optimizers of the tree and of the stumps, each may be None."""
        if (self.split is None and self.trunk is None) or (
                self.trunk is not None and self.split not in ("linear", None)):
            raise ValueError(
                "give either split or trunk: splits of the features of a trunk are linear")
        named = {"annealed": Annealed(**_FOR_NETWORKS), "end_to_end": EndToEnd()}
        optimizer = named.get(self.optimizer, self.optimizer)
        if self.init == "balanced" or (self.init == "auto" and self.trunk is not None):
            stump = None
        elif self.trunk is not None:
            raise ValueError("the splits of a trunk are trained together: use init='balanced'")
        elif self.stump is None and not isinstance(self.optimizer, Annealed | EndToEnd):
            stump = EndToEnd() if self.optimizer == "end_to_end" else Annealed(
                **_FOR_NETWORKS, steps=500)
        else:
            stump = self.stump or optimizer
        for each in (optimizer, stump):
            if each is not None:
                _check_optimizer(each, problem)
        return optimizer, stump

    def _inputs(self, X, scaling):
        """Scale samples for the networks: float32, of the shape of a sample."""
        if scaling.low is not None:
            X = winsorized(X, scaling.low, scaling.high)
        # Scaled in the precision of X: float32 has too few digits to tell timestamps apart.
        X = (X - scaling.center.astype(X.dtype)) / scaling.scale.astype(X.dtype)
        return X.astype(np.float32, copy=False).reshape(
            len(X), *(self.input_shape or X.shape[1:]))

    def _checked_inputs(self, X):
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return self._inputs(X, self._scaling)

    def _modules(self, inputs):
        """The networks of the nodes, or the trunk in a list."""
        is_trunk = isinstance(self.weights_, dict)
        name = "trunk" if is_trunk else "split"
        factory = linear if getattr(self, name) == "linear" else getattr(self, name)
        if factory is None:
            raise ValueError(
                f"a model file holds no functions: call set_params({name}=...) with the function "
                "that made the networks")
        rebuilt = with_torch("ngdt.deep._torch.functions").rebuilt
        return [rebuilt(factory, inputs, weights, name)
                for weights in ([self.weights_] if is_trunk else self.weights_)]

    def apply(self, X):
        """Leaf that each sample reaches. Only the nodes on its path are evaluated.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            From 0 to ``tree_.n_leaves - 1``.
        """
        inputs = self._checked_inputs(X)
        if isinstance(self.weights_, dict):
            return self.tree_.apply(self._features(inputs))
        tree = self.tree_
        return with_torch("ngdt.deep._torch.functions").route(
            self._modules(inputs), tree.children_left, tree.children_right, inputs)

    def features(self, X):
        """The features that `tree_` splits: the outputs of the trunk, or the scores of all nodes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float32
            One row for each sample.
        """
        return self._features(self._checked_inputs(X))

    def _features(self, inputs):
        evaluate = with_torch("ngdt.deep._torch.functions").evaluate
        columns = [evaluate(module, inputs) for module in self._modules(inputs)]
        return np.hstack(columns or [np.zeros((len(inputs), 1), dtype=np.float32)])

    def as_tree(self):
        """The features and the tree, as separate objects.

        Returns
        -------
        features : callable
            The method `features`.
        tree : Tree
            Takes the features: ``tree.predict(features(X))``. It can be plotted and exported like
            any other tree.
        """
        check_is_fitted(self)
        return self.features, self.tree_

    def _leaf_values(self, X):
        leaf = self.apply(X)
        return self.tree_.values[leaf]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "tree_")


def _check_optimizer(optimizer, problem):
    """Raise a ValueError for parameters of the optimizer that networks do not have."""
    optimizer.check(problem)
    default, given = type(optimizer)().get_params(), optimizer.get_params()
    for name in sorted(given.keys() - _OF_NETWORKS):
        if given[name] != default[name]:
            raise ValueError(
                f"{type(optimizer).__name__}({name}={given[name]!r}) is for linear splits only: "
                "leave it out")


def score_tree(children_left, children_right, values):
    """Make a tree whose features are the scores of its nodes.

    Parameters
    ----------
    children_left, children_right, values : ndarray
        As in `Tree`.

    Returns
    -------
    Tree
        Node `i` sends a sample to the right where feature `i` is positive. A single leaf has one
        feature, too.
    """
    m = len(children_left)
    return Tree(np.eye(m, max(m, 1)), np.zeros(m), children_left, children_right, values)
