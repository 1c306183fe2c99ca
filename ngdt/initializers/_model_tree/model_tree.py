"""ModelTree: a greedy tree with linear leaves whose size is chosen by cross-validation."""

from functools import cached_property
from typing import ClassVar

import numpy as np

from ngdt._folds import fold_samples, problem_without
from ngdt._structure import child_ids
from ngdt.initializers._base import Initializer
from ngdt.initializers._model_tree.grow import ROOT_PENALTIES, grow
from ngdt.optimizers._linear_leaves.linear_leaves import LinearLeaves
from ngdt.optimizers._linear_leaves.models import ScaledSamples, fit_models, with_models
from ngdt.pruning._replace import collapse
from ngdt.pruning._sequence import sequence_of_costs

# Costs of a leaf that are tried, in squared errors of a sample where the mean is predicted.
_ALPHAS = np.array([0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 80.0, np.inf])
# Penalties of the models that are tried.
_PENALTIES = np.array([3.0, 30.0])


class ModelTree(Initializer):
    """Greedy axis-aligned tree with linear leaves, pruned by cross-validation: a model tree.

    Each node has a linear model, drawn to that of the node above as in
    :class:`~ngdt.optimizers.LinearLeaves`, and gets the split after which two linear models fit
    best. The tree is pruned by minimal cost-complexity pruning, with the squared errors of the
    models in the place of impurities. The cost of a leaf and the penalty of the models are chosen
    by three folds or, from 2000 samples on, by a third of the samples that is held out. A tree
    without splits is ridge regression. For regression with the squared loss.

    Parameters
    ----------
    features : {"auto", "all"} or array-like of int, default="auto"
        Features for splits and models, as for `LinearLeaves`.
    penalty : float or "auto", default="auto"
        Penalty of the models, as for `LinearLeaves`. "auto" chooses 3 or
        30, and that of the root by generalised cross-validation.

    Notes
    -----
    Deviation: M5 splits by the targets, and GUIDE by the signs of the residuals of a model. Here
    two splits by the squared residuals and two by the targets are compared by the errors of the
    models after them. Errors are measured by at most 20 000 samples of a node.

    References
    ----------
    Quinlan (1992), Learning with Continuous Classes, AI '92.
    Loh (2002), Regression Trees with Unbiased Variable Selection and Interaction Detection,
    Statistica Sinica 12.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import ObliqueTreeRegressor
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0)
    >>> tree.fit(X, np.abs(X[:, 0])).get_n_leaves()
    2
    """

    name = "model_tree"
    is_stochastic = True

    _parameter_constraints: ClassVar[dict] = {
        name: LinearLeaves._parameter_constraints[name] for name in ("features", "penalty")}

    def __init__(self, *, features="auto", penalty="auto"):
        self.features = features
        self.penalty = penalty

    def check(self, problem):
        super().check(problem)
        if problem.loss.is_classifier:
            raise ValueError("init=ModelTree() is for regression only")
        LinearLeaves(features=self.features).check(problem)

    def _initialize(self, problem):
        return CrossValidatedModels(problem, fold_samples(problem), self).tree


class CrossValidatedModels:
    """The model tree of all samples, and those without each fold, of the same cost and penalty.

    Parameters
    ----------
    problem : Problem
    folds : list of ndarray of int32
        Test samples of each fold. Without folds, the tree has no splits.
    params : ModelTree
    """

    def __init__(self, problem, folds, params):
        self.problem = problem.replace(validation_weight=None, verbose=0, callback=None)
        self.params = params
        self._parts = [
            _Grown(problem_without(self.problem, samples), params) for samples in folds]
        errors = 0.0
        for part, samples in zip(self._parts, folds, strict=True):
            errors += part.errors(samples, self.problem.sample_weight[samples])
        # Of equal errors, the fewest leaves and the largest penalty.
        self._alpha, self._penalty = np.inf, -1
        if folds:
            backwards = np.unravel_index(np.argmin(errors[::-1, ::-1]), errors.shape)
            alpha, self._penalty = np.array(errors.shape) - 1 - backwards
            self._alpha = _ALPHAS[alpha]

    @cached_property
    def tree(self):
        """The tree for all training samples."""
        return _Grown(self.problem, self.params).pruned(self._alpha, self._penalty)

    def fold_tree(self, k):
        """The tree without the samples of a fold."""
        return self._parts[k].pruned(self._alpha, self._penalty)


class _Grown:
    """A tree that was grown to the end, and the models of its nodes."""

    def __init__(self, problem, params):
        linear, self.problem = LinearLeaves(features=params.features), problem
        penalties = _PENALTIES if params.penalty == "auto" else np.array([float(params.penalty)])
        self.data = ScaledSamples(problem, linear.used_features(None, problem))
        self.tree = grow(problem, self.data)
        samples = problem.training_samples
        self.models = fit_models(
            self.tree, self.data, samples, problem.apply(self.tree, samples), penalties,
            root_penalties=ROOT_PENALTIES if params.penalty == "auto" else None)
        self._sequences = [
            sequence_of_costs(self.tree, errors) for errors in self.models.losses.T]
        # Squared error of a sample where the mean is predicted.
        y, weight = problem.y[samples], self.data.weight[samples]
        self._unit = max(np.finfo(float).tiny, np.average(
            ((y - np.average(y, axis=0, weights=weight)) ** 2).sum(axis=1), weights=weight))

    def _is_leaf(self, alpha, penalty):
        """Whether each node becomes a leaf."""
        sequence = self._sequences[penalty]
        is_leaf = sequence.is_leaf(alpha * self._unit)
        limit = self.problem.max_leaf_nodes
        n_steps = int(is_leaf.sum())
        while limit is not None and len(np.unique(self._tops(is_leaf))) > limit:
            n_steps += 1
            is_leaf = (sequence.step >= 0) & (sequence.step < n_steps)
        return is_leaf

    def _tops(self, is_leaf):
        """The node at which the samples of each leaf stop: the first one that is a leaf."""
        m = self.tree.n_internal
        top = np.full(2 * m + 1, -1)
        top[0] = 0 if m == 0 or is_leaf[0] else -1
        for node, children in enumerate(child_ids(self.tree)):
            for child in children:
                stops = child >= m or is_leaf[child]
                top[child] = top[node] if top[node] >= 0 else (child if stops else -1)
        return top[m:]

    def errors(self, samples, weight):
        """Sums of weighted squared errors, shape (n_alphas, n_penalties)."""
        leaf, Z = self.problem.apply(self.tree, samples), self.data.read(samples)
        y = self.problem.y[samples]
        errors = np.zeros((len(_ALPHAS), len(self._sequences)))
        for j in range(len(self._sequences)):
            of_node = {}
            for i, alpha in enumerate(_ALPHAS):
                top = self._tops(self._is_leaf(alpha, j))[leaf]
                for node in np.unique(top):
                    if node not in of_node:
                        here = np.flatnonzero(top == node)
                        squares = (self.models.predict(node, Z[here])[:, j] - y[here]) ** 2
                        of_node[node] = weight[here] @ squares.sum(axis=1)
                    errors[i, j] += of_node[node]
        return errors

    def pruned(self, alpha, penalty):
        """The pruned tree with its linear leaves."""
        is_leaf = self._is_leaf(alpha, penalty)
        leaves = np.arange(self.tree.n_leaves, dtype=np.float64)[:, None]
        small = collapse(self.tree.replace(values=leaves), is_leaf)
        nodes = self._tops(is_leaf)[small.values[:, 0].astype(np.intp)]
        values = np.zeros((small.n_leaves, self.problem.n_outputs))
        return with_models(
            small.replace(values=values), self.data, self.models, nodes=nodes, penalty=penalty)
