"""Explanations of the predictions of a forest."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ngdt._core.samples import Samples
from ngdt._inspection.captions import captions_of
from ngdt._inspection.rules import one_line
from ngdt._util.numbers import format_value
from ngdt.explanation._context import Context, encoded_rows
from ngdt.explanation._contributions import (
    contributions,
    contributions_of_leaf,
    values_at_nodes,
)
from ngdt.explanation._explanations import Explanation, Explanations
from ngdt.explanation._sums import WeightedSum
from ngdt.explanation._text import change_lines, term_lines


@dataclass(frozen=True, repr=False, eq=False)
class ForestExplanation(Explanation):
    """The explanation of the prediction of a forest for one sample.

    Attributes
    ----------
    prediction : Prediction
        The class and its mean probability, or the number.
    votes : dict or ndarray
        Number of trees by the class that each predicts, the most frequent first; for regression,
        what each tree predicts, shape (n_trees,) or (n_trees, n_outputs).
    base : ndarray of shape (n_outputs,)
        Mean prediction for the training samples of each tree: probabilities, or numbers.
    contributions : ndarray of shape (n_features, n_outputs)
        What each encoded feature adds along the paths of all trees, and in linear leaves.
        ``base + contributions.sum(axis=0)`` is the prediction.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ObliqueForestClassifier(20, optimizer=None, random_state=0).fit(X, y)
    >>> explanation = forest.explain(X[:1])[0]
    >>> explanation.prediction.value, explanation.votes
    (0, {0: 20})
    >>> explanation.contributions.shape
    (4, 3)
    """

    votes: Any
    base: np.ndarray
    contributions: np.ndarray
    _trees: tuple
    _mean: Any

    @property
    def _has_constant_leaves(self):
        return all(tree.slopes is None for tree in self._trees)

    def _goal(self, target):
        if not self._has_constant_leaves:
            raise ValueError(
                "changes are not known for forests of trees with linear leaves: train one with "
                "leaf='constant'")
        return super()._goal(target)

    def _outputs_of(self, points):
        return None, self._mean(points)

    def _boundaries(self, goal):
        return [(tree.weights, tree.thresholds, np.abs(tree.thresholds)) for tree in self._trees]

    def sums(self):
        """The weighted sums of the contributions to the predicted class, or to each target.

        Returns
        -------
        dict of str to WeightedSum
            By what is summed up, such as "prediction".
        """
        context = self._context
        if context.classes is not None:
            outputs = {f"probability of {self.prediction.label}": self._best}
        elif len(self._outputs) == 1:
            outputs = {"prediction": 0}
        else:
            titles = context.titles_of_targets(len(self._outputs))
            outputs = {title: k for k, title in enumerate(titles)}
        names = self._row.names(context)
        weights = np.where(self.contributions == 0, 0.0, np.nan)
        return {
            title: WeightedSum._of(names, weights[:, k], self._row.x, context.mean,
                                   self._outputs[k], self.contributions[:, k])
            for title, k in outputs.items()}

    def _panels(self):
        return [(f"{name}: {format_value(terms.total, most)}", None)
                for (name, terms), most in zip(
                    self.sums().items(), self._context.roundings or [np.inf], strict=True)]

    def _lines(self, n_terms):
        lines = [f"{self.prediction}, {self._votes_text()}"]
        for (title, _), terms in zip(self._panels(), self.sums().values(), strict=True):
            lines += [title, *term_lines(terms, n_terms)]
        if self._context.classes is None:
            return lines
        if not self._has_constant_leaves:
            return [*lines, "changes to another class are not known for linear leaves"]
        return lines + change_lines("class", self.changes_of_one_column(), None, n_terms)

    def _votes_text(self):
        if self._context.classes is not None:
            return ", ".join(f"{n} of {len(self._trees)} trees: {one_line(str(label))}"
                             for label, n in self.votes.items())
        low, high = (np.ravel(end(axis=0)) for end in (self.votes.min, self.votes.max))
        names = self._context.captions.target_names
        heads = [f"{one_line(name)}: " for name in names] if names else [""] * len(low)
        return ", ".join(
            f"{head}trees from {format_value(float(a), most)} to {format_value(float(b), most)}"
            for head, a, b, most in zip(heads, low, high, self._context.roundings, strict=True))


class ExplainsForest:
    """Mixin of forests, which explain their predictions."""

    def explain(self, X: ArrayLike, feature_names: Sequence[str] | None = None) -> Explanations:
        """Explain the prediction for each sample: votes, what each feature adds, nearest changes.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        feature_names : sequence of str, default=None
            Names of the columns. None takes ``feature_names_in_``.

        Returns
        -------
        tuple of ForestExplanation
            One for each sample. Print it, or see :class:`ngdt.explanation.ForestExplanation`.
        """
        check_is_fitted(self)
        # Sums over values near the largest number may be infinite, which is what is then shown.
        with np.errstate(over="ignore", invalid="ignore"):
            return _explain_rows(self, X, feature_names)


def _explain_rows(forest, X, feature_names):
    forest._check_trees_are_trained("explain")
    trees, ensemble = forest.estimators_, forest._ensemble()
    context = Context(trees, captions_of(trees[0], feature_names=feature_names), is_forest=True)
    leaf_means = [each._sample_summary.leaf_means for each in trees]
    values = [
        values_at_nodes(each.tree_, each.n_node_samples_[each.tree_.n_internal:], means,
                        context.classes is not None)
        for each, means in zip(trees, leaf_means, strict=True)]
    X, rows = encoded_rows(forest, X)
    data = Samples(X)
    leaves, outputs = forest._leaves(data), forest._mean(data)
    by_tree = np.stack([
        tree.leaf_predictions(own.copy(), data)
        for tree, own in zip(ensemble.trees, leaves.T, strict=True)], axis=1)
    base = np.mean([at_nodes[0] for at_nodes in values], axis=0)

    def added(tree, at_nodes, means, leaf, x):
        own = contributions(tree, at_nodes, leaf, x, context.mean, context.std)
        if means is not None:
            own += contributions_of_leaf(tree, leaf, x, means[leaf], context.classes is not None)
        return own

    def explain(i, row):
        own = np.mean([
            added(*each, row.x)
            for each in zip(ensemble.trees, values, leaf_means, leaves[i], strict=True)], axis=0)
        return ForestExplanation(
            context.prediction(outputs[i]), context, row, outputs[i],
            _votes(context, by_tree[i]), base, own, ensemble.trees,
            lambda points: forest._mean(Samples(points), ensemble))

    return Explanations(explain(i, row) for i, row in enumerate(rows))


def _votes(context, outputs):
    """Predictions of the trees, from their outputs of shape (n_trees, n_outputs)."""
    if context.classes is None:
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs
    return dict(Counter(context.classes[outputs.argmax(axis=1)].tolist()).most_common())
