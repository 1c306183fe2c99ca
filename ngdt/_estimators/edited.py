"""Fitted trees whose splits or leaves are changed after the training: for `ngdt.pruning`."""

from copy import copy
from dataclasses import replace

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from ngdt._core.quantiles import MAX_STORED, LeafQuantiles
from ngdt._core.structure import choose_leaves, has_slopes, node_means, shares_slopes
from ngdt._estimators.description import describe, describe_collapsed
from ngdt._estimators.resolve import resolve_leaves, resolve_loss, resolve_optimizers
from ngdt._estimators.summary import noun_of
from ngdt._inspection.captions import captions_of
from ngdt._training.far_targets import FarTargets, warn_of_far_targets
from ngdt._training.monotone import nearest_monotone
from ngdt._training.result import TrainingResult, empty_history
from ngdt._training.shared_slopes import constant_of, put_back, split_off
from ngdt._util.numbers import count
from ngdt._util.validation import error_prefix
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import LinearLeaves
from ngdt.pruning._replace import as_leaf_values, collapse_to, places

# Difference of two numbers that are the same but for rounding, as where a file was between.
_SAME = 1e-9
# Least share of a leaf in all weight, so that no mean is one of nothing.
_MIN_WEIGHT = 1e-12


class EditsTree:
    """Mixin of trees: a copy whose splits or leaves are changed, for `ngdt.pruning`."""

    def _pruned_at(self, nodes):
        """A copy with leaves in place of some nodes: see `ngdt.pruning.prune_at`."""
        check_is_fitted(self)
        self._check_tree_is_trained("prune_at")
        tree = self.tree_
        is_leaf = _mask_of(nodes, tree)
        if not is_leaf.any():
            return _changed(self, {})
        means = captions_of(self).node_predictions()
        # Of branches that no sample reaches, as partial_fit may leave them.
        means = np.where(np.isnan(means), node_means(
            tree, means[tree.n_internal:], np.ones(tree.n_leaves)), means)
        smaller = collapse_to(tree, is_leaf, as_leaf_values(means, is_classifier(self)))
        loss = resolve_loss(self)
        if not (loss.is_classifier or loss.is_squared or loss.has_log_link):
            new = places(tree, smaller)[np.flatnonzero(is_leaf)] - smaller.n_internal
            best = _best_values(describe_collapsed(self, smaller), loss, self._targets)
            smaller = smaller.make_constant(new, best[new])
        return _changed(
            self, described_in_order(self, smaller),
            f"It was then pruned at the nodes {np.flatnonzero(is_leaf).tolist()}.")

    def _with_leaves(self, frame):
        """A copy whose leaves predict what a data frame says: see `ngdt.pruning.set_leaves`."""
        check_is_fitted(self)
        self._check_tree_is_trained("set_leaves")
        tree, captions = self.tree_, captions_of(self)
        node, values = _read_predictions(frame, captions)
        means = captions.node_predictions()
        is_new = ~np.isclose(
            values, means[node], rtol=_SAME, atol=0.0, equal_nan=True).all(axis=1)
        if is_classifier(self) and "prediction" in frame:
            told = np.asarray(frame["prediction"]).astype(str)
            known = captions.node_classes(means)[node]
            names, is_kept = np.array(captions.class_names), ~(
                is_new | np.isnan(means[node]).any(axis=1))
            is_told = (told != names[known]) & is_kept
            forms = set(zip(told[is_kept], known[is_kept], strict=True))
            # A file may hold a label such as 01 or NA in another form, but always in the same.
            if np.isin(told[is_told], names).any() or len(forms) > len(set(known[is_kept])):
                raise ValueError(
                    f"frame has another prediction of the nodes {node[is_told].tolist()} alone, "
                    "which follows from the probabilities: change these")
        node, values = node[is_new], values[is_new]
        leaf = node - tree.n_internal
        if (leaf < 0).any():
            raise ValueError(
                f"frame has other predictions of the splits {node[leaf < 0].tolist()}, which are "
                "means of those of the leaves below: change the rows of leaves, or use prune_at")
        if has_slopes(tree, leaf):
            raise ValueError("frame has other predictions of linear leaves, whose predictions "
                             "depend on the sample: fit with leaf='constant'")
        if not len(leaf):
            return _changed(self, {})
        _check_predictions(self, node, values)
        changed = tree.make_constant(leaf, as_leaf_values(values, is_classifier(self)))
        summary = replace(self._sample_summary, tree=changed)
        ordered = _in_order(self, changed, summary, self._n_node_samples)
        if ordered is not changed:
            moved = ~np.isclose(ordered.values, changed.values).all(axis=1)
            raise ValueError(
                "frame has predictions against the directions of monotonic_cst, of the nodes "
                f"{(tree.n_internal + np.flatnonzero(moved)).tolist()}: change those of all of "
                "them, or set_params(monotonic_cst=None) first")
        return _changed(self, {"tree_": changed, "_sample_summary": summary},
                        f"Its leaves {leaf.tolist()} were then set by hand.")

    def _refitted(self, X, y, sample_weight):
        """A copy whose leaves are fitted to other samples: see `ngdt.pruning.refit_leaves`."""
        check_is_fitted(self)
        problem, fitted = self._checked_problem(X, y, sample_weight, resume=True)
        warn_of_far_targets(problem, fitted["_targets"])
        return self._fitted_to(problem, fitted)

    def _fitted_to(self, problem, fitted):
        """A copy whose leaves are fitted to a problem, with attributes that depend on X and y."""
        before = fitted["_targets"].scale_leaf_values(self.tree_, problem.loss)
        near = problem.near
        samples = near.training_samples     # a leaf of far targets that are left out is empty, too
        is_empty = np.bincount(near.apply(before, samples), minlength=before.n_leaves) == 0
        if before.slopes is None or (problem.directions is not None and is_empty.any()):
            # With other slopes, leaves without samples that share them would predict otherwise.
            constant, rest = split_off(before, near)
            tree = put_back(rest.refit_leaves(constant), before)
        else:
            linear_leaves = clone(_linear_leaves(self)).set_params(clip=before.ranges is not None)
            linear_leaves.check(problem)
            tree = linear_leaves.fit_leaves(before.replace(values=before.values), near)
        tree = FarTargets(problem, near).restore(choose_leaves(is_empty, before, tree))
        known = self
        if self._sample_summary.tree is not self.tree_:     # its training is that of another tree
            known = copy(self)
            vars(known).pop("_edits", None)
            vars(known).update(_noun=noun_of(before), history_=empty_history([]),
                               baseline_kept_=False, candidates_={})
        result = TrainingResult(tree, known.history_, known.baseline_kept_, known.candidates_)
        fitted = fitted | describe(problem, result, fitted)
        if is_empty.any() and ("_leaf_quantiles" in fitted or before.slopes is not None):
            self._check_tree_is_trained("refit_leaves, of leaves that no sample reaches")
            fitted |= _kept_descriptions(self, fitted, is_empty)
        changed = _changed(
            known, fitted, f"Its leaves were then refitted to {count(len(samples), 'sample')}.")
        # The samples that a forest drew for the tree are not all that it knows.
        vars(changed).pop("_draw", None)
        return changed


def described_in_order(estimator, tree):
    """Fitted attributes as of `describe_collapsed`, with the nearest values that are monotone.

    Slopes that the leaves of a monotone tree share stay.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
        Its `monotonic_cst` may ask for that.
    tree : Tree
        With leaf values in the units of y.

    Returns
    -------
    dict
    """
    before = estimator.tree_
    if estimator.monotonic_cst is not None and shares_slopes(before):
        leaf = places(before, tree)[before.n_internal:] - tree.n_internal
        weight = captions_of(estimator).leaf_weights
        weight = np.maximum(weight, _MIN_WEIGHT * weight.sum())
        values = constant_of(before).values[:, 0]
        tree = put_back(tree.replace(values=(
            np.bincount(leaf, weight * values) / np.bincount(leaf, weight))[:, None]), before)
    fitted = describe_collapsed(estimator, tree)
    ordered = _in_order(estimator, tree, fitted["_sample_summary"], fitted["_n_node_samples"])
    return fitted if ordered is tree else describe_collapsed(estimator, ordered)


def _in_order(estimator, tree, summary, n_node_samples):
    """The tree with the nearest values that are monotone, if `monotonic_cst` asks for that."""
    if estimator.monotonic_cst is None or (
            tree.slopes is not None and not shares_slopes(tree)):
        return tree
    weight = summary.leaf_weights
    if weight is None:
        weight = n_node_samples[tree.n_internal:]
    # Log-odds of leaves with slopes are numbers as others are.
    loss = LogLoss() if is_classifier(estimator) and tree.slopes is None else SquaredLoss()
    constant = tree if tree.slopes is None else constant_of(tree)
    ordered = nearest_monotone(constant, estimator._directions_of(None), weight, loss)
    return tree if ordered is constant else put_back(ordered, tree)


def _read_predictions(frame, captions):
    """Numbers of nodes, and their predictions, of the rows of a data frame."""
    columns = []
    for name in ("node", *captions.prediction_columns):
        try:
            columns.append(np.asarray(frame[name]))
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(
                f"frame must be as export_frame makes it, but has no column {name!r}") from error
    node, *columns = columns
    n_nodes = captions.tree.n_internal + captions.tree.n_leaves
    if not np.isin(node, np.arange(n_nodes)).all() or len(np.unique(node)) < len(node):
        raise ValueError(f"frame must have numbers below {n_nodes} in the column 'node', each of "
                         f"them once, got {node.tolist()}")
    with error_prefix("frame"):
        return node.astype(np.intp), np.column_stack(columns).astype(np.float64)


def _check_predictions(estimator, node, values):
    """Raise a ValueError if no leaf can predict these values."""
    if is_classifier(estimator):
        wanted, is_wrong = "probabilities with the sum 1", (values < 0.0).any(axis=1) | ~(
            np.abs(values.sum(axis=1) - 1.0) <= _SAME)
    elif estimator._targets.has_log_link:
        wanted, is_wrong = "positive and finite", ~((values > 0.0) & (values < np.inf)).all(axis=1)
    else:
        wanted, is_wrong = "finite", ~np.isfinite(values).all(axis=1)
    if is_wrong.any():
        raise ValueError(f"predictions must be {wanted}, got {values[is_wrong].tolist()} for the "
                         f"nodes {node[is_wrong].tolist()} of frame")


def _mask_of(nodes, tree):
    """Mask of the internal nodes that are given by their numbers."""
    given, every = np.asarray(nodes), np.arange(tree.n_internal)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu") or not (
            np.isin(given, every).all()):
        raise ValueError(
            f"nodes must be a list of internal nodes, which export_frame numbers below "
            f"{tree.n_internal}, got {nodes!r}: a leaf is pruned with the split above it")
    return np.isin(every, given)


def _best_values(fitted, loss, encoder):
    """Values of the leaves that minimise the loss of the targets that are kept for quantiles."""
    n_leaves = fitted["tree_"].n_leaves
    leaf, y, weight = fitted["_leaf_quantiles"].samples()
    y = encoder.encode(y)
    return encoder.decode(loss.decode(np.hstack([
        loss.fit_leaves(leaf, y[:, [t]], weight[:, t], n_leaves, 1) for t in range(y.shape[1])])))


def _linear_leaves(estimator):
    """Optimizer that fits linear leaves: the last one, or the one that the parameters allow."""
    leaves = resolve_leaves(estimator, estimator._table)
    optimizers = resolve_optimizers(estimator, leaves)
    if optimizers and isinstance(optimizers[-1], LinearLeaves):
        return optimizers[-1]
    return leaves.linear


def _kept_descriptions(estimator, fitted, is_kept):
    """Quantiles and means of leaves that were kept."""
    found = {}
    if "_leaf_quantiles" in fitted:
        found["_leaf_quantiles"] = LeafQuantiles.pool(
            [fitted["_leaf_quantiles"], estimator._leaf_quantiles],
            [(~is_kept).astype(np.float64), is_kept.astype(np.float64)], max_stored=MAX_STORED)
    old, new = estimator._sample_summary, fitted["_sample_summary"]
    found["_sample_summary"] = replace(new, **{
        name: np.where(is_kept[:, None], getattr(old, name), getattr(new, name))
        for name in ("leaf_means", "probabilities")
        if getattr(old, name) is not None and getattr(new, name) is not None})
    return found


def _changed(estimator, fitted, *edit):
    """A copy of an estimator with other fitted attributes, and a sentence for its summary."""
    changed = copy(estimator)
    vars(changed).pop("_stream", None)
    edits = [*getattr(estimator, "_edits", ()), *edit]
    vars(changed).update(fitted | ({"_edits": edits} if edits else {}))
    return changed
