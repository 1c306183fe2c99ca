"""Base class of the classification tree and the regression tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from ngdt._core.structure import decision_path, is_constant
from ngdt._core.tree import Tree
from ngdt._estimators.data import TableEstimator
from ngdt._estimators.description import describe
from ngdt._estimators.edited import EditsTree
from ngdt._estimators.resolve import (
    cloned,
    is_auto,
    resolve_given_tree,
    resolve_init,
    resolve_leaves,
    resolve_optimizers,
)
from ngdt._estimators.run import running
from ngdt._estimators.summary import SummarizesTree, noun_of
from ngdt._estimators.validation import NO_VALIDATION
from ngdt._methods.linear_leaves.models import takes_linear_leaves
from ngdt._methods.random.random_complete import default_depth
from ngdt._methods.soft.stream import Stream
from ngdt._selection.candidates import default_candidates, named_candidates
from ngdt._selection.default import NO_SPLITS, best_tree
from ngdt._selection.train import train
from ngdt._training.result import TrainingResult, history_of
from ngdt._training.size_limits import targets_at_leaves
from ngdt._util.numbers import count
from ngdt._util.validation import AUTO, BELOW_ONE, COUNT_OR_ZERO, as_attribute_error, warn
from ngdt.explanation._tree import ExplainsTree
from ngdt.pruning._sequence import pruning_sequence

# Number of samples below which a later batch ruins a tree. One of 400 samples had an R² of 0.83:
# after one more sample it was below zero, after 20 less by 0.5, after 50 by 0.3, and after 100 the
# same, by each optimizer.
_MIN_BATCH = 50


@dataclass(eq=False, repr=False)
class ObliqueTree(SummarizesTree, EditsTree, ExplainsTree, TableEstimator):
    """Base class of the trees."""

    __metadata_request__predict: ClassVar[dict] = {"check_input": UNUSED}

    _parameter_constraints: ClassVar[dict] = {
        **TableEstimator._parameter_constraints,
        "max_depth": [COUNT_OR_ZERO, AUTO, None],
        "validation_fraction": [AUTO, BELOW_ONE, None],
        "callback": [callable, None],
    }

    max_depth: int | Literal["auto"] | None = "auto"
    _: KW_ONLY
    validation_fraction: float | Literal["auto"] | None = "auto"
    callback: Callable[[dict], Any] | None = None

    def _train(self, run, X, y, sample_weight, validation=NO_VALIDATION):
        """Train a tree, or in a warm start the present one."""
        resume = self.warm_start and hasattr(self, "tree_")
        problem = run.begin(X, y, sample_weight, validation, resume=resume,
                            checkpoint=self.checkpoint, before=self.tree_ if resume else None)
        leaves = resolve_leaves(self, run.fitted["_table"])
        optimizers = resolve_optimizers(self, leaves, problem.directions is not None)
        if is_auto(self.init) and not resume and (
                is_auto(self.optimizer) or (optimizers and is_auto(self.validation_fraction))):
            run.result = best_tree(
                problem, default_candidates(problem, leaves) if is_auto(self.optimizer) else
                named_candidates(problem, optimizers, not is_auto(self.max_depth), leaves),
                self.validation_fraction, leaves=leaves, seconds_per_sample=run.seconds_per_sample)
            return
        init = self._initial(run, optimizers, resume)
        if optimizers or isinstance(init, Tree) or not init.chooses_size:
            problem = self._sized(problem)
        if isinstance(init, Tree):
            if self._loses_slopes(init, optimizers, problem):
                # Constant leaves could be far worse: the default may have chosen a single leaf.
                optimizers = [*optimizers, leaves.linear]
            init = self._scaled(init, problem, run)
            if optimizers and init.slopes is not None and (
                    problem.directions is not None or not takes_linear_leaves(problem)):
                init = problem.refit_leaves(init)
        run.result = train(problem, init, optimizers, validation_fraction=self.validation_fraction)
        tree, y = run.result.tree, problem.y[problem.training_samples]
        if is_constant(tree) and problem.limits.max_depth != 0 and (y != y[0]).any():
            run.surprise = NO_SPLITS

    def _partial_fit(self, X, y, sample_weight, classes=None):
        """Train the present tree further on some samples, or the first one."""
        if self.leaf not in ("auto", "constant") or self.monotonic_cst is not None:
            raise ValueError(
                "partial_fit cannot fit linear leaves, nor keep predictions monotone, on samples "
                "that come in batches: use leaf='constant' and monotonic_cst=None, or fit")
        resume = hasattr(self, "tree_")
        with running(self) as run:
            problem = self._sized(run.begin(X, y, sample_weight, resume=resume, classes=classes))
            optimizers = resolve_optimizers(self, resolve_leaves(self, run.fitted["_table"]))
            init = self._initial(run, optimizers, resume)
            if isinstance(init, Tree):
                if self._loses_slopes(init, optimizers, problem):
                    warn("partial_fit replaced the linear leaves of the present tree by constant "
                         "ones. Fit with leaf='constant' before partial_fit")
                init = self._scaled(init, problem, run)
            if any(getattr(each, "expected_samples", None) for each in optimizers):
                run.result = self._advance_stream(run, init, optimizers, resume)
            else:
                n_samples = len(problem.training_samples)
                if resume and n_samples < _MIN_BATCH:
                    warn(f"partial_fit fits the present tree to {count(n_samples, 'sample')} "
                         "alone, and it may forget the others: collect a few hundred for each call")
                run.result = train(problem, init, optimizers, limit=False)
        if run.interrupted:     # the loop that the call is in has to end
            raise KeyboardInterrupt
        return self

    def _initial(self, run, optimizers, resume):
        """The initializer, or the tree, that training starts from; `kind_` may be its noun."""
        init = self.tree_ if resume else resolve_init(self, optimizers, run.fitted)
        run.fitted["_noun"] = noun_of(init)
        return init

    def _loses_slopes(self, init, optimizers, problem):
        """Return whether optimizers replace the linear leaves of a given tree."""
        if not is_auto(self.leaf) or init.slopes is None:
            return False
        if problem.directions is None:
            is_lost = not all(optimizer.takes_linear_leaves for optimizer in optimizers)
        else:   # optimizers know of no slopes that all leaves share
            is_lost = bool(optimizers)
        return is_lost and takes_linear_leaves(problem)

    def _sized(self, problem):
        """The problem with a depth, where nothing chooses the size of the initial tree."""
        return problem.limited(max_depth=default_depth(problem)) if (
            is_auto(self.max_depth)) else problem

    def _scaled(self, tree, problem, run):
        """A given tree, checked, for the encoded targets, without the far ones."""
        return run.far_targets.withdraw(resolve_given_tree(tree, problem, run.fitted["_targets"]))

    def _advance_stream(self, run, init, optimizers, resume):
        """Go on with soft training on a part of the samples that are expected."""
        if len(optimizers) > 1:
            raise ValueError(
                f"optimizer={optimizers} is a list: expected_samples is for Annealed alone, as in "
                "optimizer=Annealed(expected_samples=...)")
        optimizer, = optimizers
        problem, stream = run.far_targets.near, getattr(self, "_stream", None)
        optimizer.check(problem)
        if not resume:
            stream = Stream.of(
                init if isinstance(init, Tree) else init.initialize(problem), problem)
        elif stream is None:
            raise ValueError(
                "optimizer=Annealed(expected_samples=...) goes on with what its first partial_fit "
                "began, but the present tree is not of one, or was loaded from a file of ngdt.save:"
                " use optimizer='ssgd', or a clone of the estimator")
        run.fitted["_stream"], result, run.interrupted = stream.advance(optimizer, problem)
        return TrainingResult(result.tree, history_of(optimizer, result.history))

    def _set_fitted(self, run):
        """Set all fitted attributes together."""
        tree = run.far_targets.restore(run.result.tree)
        fitted = run.fitted | describe(
            run.problem, replace(run.result, tree=tree), run.fitted)
        for name in ("_stream", "_edits", "_noun"):
            vars(self).pop(name, None)
        vars(self).update(fitted)

    def _cut_message(self, by_user):
        epochs = count(self.n_iter_, "epoch")
        if by_user:
            return (f"Training was interrupted after {epochs}; tree_ is the best tree found until "
                    "then.")
        # The pruned tree, which may have won, has no epochs.
        left = f" to {epochs}" if self.n_iter_ else ""
        return (f"max_time={self.max_time:g} s shortened the training{left}; tree_ is the best "
                "tree found in this time.")

    def cost_complexity_pruning_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Alphas at which minimal cost-complexity pruning removes splits of the tree.

        A clone with ``ccp_alpha=0`` is fitted, and the path of its tree is returned. The estimator
        is not changed.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            As for `fit`.

        Returns
        -------
        sklearn.utils.Bunch
            `ccp_alphas` : ndarray of shape (n_subtrees,)
                Effective alpha of each subtree, ascending from 0.
            `impurities` : ndarray of shape (n_subtrees,)
                Sum of the impurities of the leaves of the subtree, in the units of `ccp_alpha`.

        See Also
        --------
        ngdt.path.size_path : Errors on held-out folds by the number of leaves, of linear ones, too.

        Notes
        -----
        The slopes of linear leaves do not count: impurities are those of the means of leaves.
        """
        fitted = cloned(self).set_params(ccp_alpha=0.0, checkpoint=None).fit(X, y, sample_weight)
        problem, _ = fitted._checked_problem(X, y, sample_weight, resume=True)
        # Far targets are near, as where `fit` prunes.
        sequence = pruning_sequence(
            fitted.tree_, targets_at_leaves(fitted.tree_, problem.near))
        return sequence.path(unit=fitted._targets.scale_impurity(1.0, problem.loss))

    def apply(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Leaf that each sample reaches.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            False skips the validation of X, which is far slower than a prediction for one sample.
            X must then be a C-contiguous array or a CSR matrix of finite float32 or float64.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            From 0 to ``get_n_leaves() - 1``.
        """
        return self._route(X, check_input)[1]

    def _route(self, X, check_input, predict=False):
        """The tree, the leaf that each sample reaches and, if wanted, predictions of linear leaves.

        `tree_` is read once, since another thread may replace it at any time by `partial_fit`.
        """
        if check_input or not hasattr(self, "tree_"):   # check_is_fitted is as slow as a sample
            check_is_fitted(self)
        tree = self.tree_
        if check_input:
            raw = self._read(X)
            if self._table.is_identity:
                # A search for NaN and infinity costs as much as routing. Scores reveal both.
                data = tree.samples_of(raw.numbers)
                leaf, predictions = tree._predict_finite(data, predict, self.n_jobs)
                if leaf is not None:
                    return tree, leaf, predictions
            X = self._table.transform(raw)
        data = tree.samples_of(X)
        leaf = tree._apply_by_threads(data, self.n_jobs)
        is_linear = predict and tree.slopes is not None
        return tree, leaf, tree.leaf_predictions(leaf, data) if is_linear else None

    def decision_path(self, X: ArrayLike) -> sparse.csr_matrix:
        """Internal nodes on the path of each sample.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        CSR matrix of bool, shape (n_samples, n_internal)
        """
        return decision_path(*self._route(X, True)[:2])

    def _trees(self):
        return [self.tree_]

    @property
    def n_node_samples_(self) -> np.ndarray:
        """Number of training samples at each internal node of `tree_`, then at each leaf.

        An AttributeError is raised if `tree_` was replaced.
        """
        check_is_fitted(self)
        with as_attribute_error():
            self._check_tree_is_trained("n_node_samples_")
        return self._n_node_samples

    def _check_tree_is_trained(self, what):
        """Raise a ValueError for what the training samples of another tree do not tell."""
        if self._sample_summary.tree is not self.tree_:
            raise ValueError(
                f"{what}: tree_ was replaced, and the training samples at its leaves are not "
                "known. Fit an estimator with init=tree_ and optimizer=None")

    def __sklearn_is_fitted__(self):
        return hasattr(self, "tree_")
