"""Forests whose trees are pruned, or whose leaves are refitted: for `ngdt.pruning`."""

from copy import copy

import numpy as np
from scipy.special import softmax
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ngdt._encoding.check_targets import check_targets
from ngdt._encoding.targets import RegressionTargets
from ngdt._estimators.edited import described_in_order
from ngdt._training.far_targets import warn_of_far_targets
from ngdt._util.validation import check_weight
from ngdt.losses import SquaredLoss
from ngdt.pruning._member import HeldOut, Member


class PrunesForest:
    """Mixin of forests: what `ngdt.pruning` needs of them."""

    def _refitted(self, X, y, sample_weight):
        """A copy whose leaves are fitted to other samples: see `ngdt.pruning.refit_leaves`."""
        check_is_fitted(self)
        refitted = copy(self)
        problem, fitted = self.estimators_[0]._checked_problem(X, y, sample_weight, resume=True)
        warn_of_far_targets(problem, fitted["_targets"])
        refitted._set_trees(fitted, [each._fitted_to(problem, fitted) for each in self])
        return refitted

    def _pruning_input(self, X, y, sample_weight):
        """The trees as members, and samples by which to prune them, checked and encoded."""
        held_out = self._held_out(X, y, sample_weight)
        self._check_trees_are_trained("prune_forest")
        members = []
        for place, estimator in enumerate(self.estimators_):
            tree = estimator.tree_
            averages = estimator._sample_summary.leaf_averages()
            members.append(Member.of(
                place, tree, estimator._n_node_samples[tree.n_internal:],
                softmax(averages, axis=1) if held_out.is_classifier else averages, held_out))
        return members, held_out

    def _held_out(self, X, y, sample_weight):
        data = self._samples(X)
        y = check_targets(self, y, **self._check_y_params)
        if len(y) != data.n_samples:
            raise ValueError(f"y has {len(y)} samples, but X has {data.n_samples}")
        weight = check_weight(sample_weight, len(y))
        if np.count_nonzero(weight) < 2:
            raise ValueError(
                "y must have at least two samples of positive weight: each is predicted without it")
        encoder = self._targets
        if is_classifier(self):
            y = np.eye(encoder.n_outputs)[encoder.encode(y)]
            return HeldOut(data, y, weight, np.zeros(y.shape[1]), np.ones(y.shape[1]), True)
        y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if y.shape[1] != encoder.n_outputs:
            raise ValueError(
                f"y has {y.shape[1]} targets, but the forest was trained on {encoder.n_outputs}")
        units = RegressionTargets.fit(y, weight, SquaredLoss())
        return HeldOut(data, y, weight, units.center, units.scale, False)

    def _with_members(self, kept, path):
        """A forest of some of the trees, which may have been pruned."""
        pruned, trees = copy(self), []
        pruned.n_estimators = len(kept)
        for each in kept:
            estimator = self.estimators_[each.place]
            if each.tree is not estimator.tree_:
                fitted, estimator = described_in_order(estimator, each.tree), copy(estimator)
                vars(estimator).update(fitted)
            trees.append(estimator)
        pruned._set_trees({}, trees)
        pruned.pruning_path_ = path
        return pruned
