"""Explanations of the predictions of a forest."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ngdt._core.samples import Samples
from ngdt._inspection.captions import captions_of
from ngdt._inspection.rules import with_targets
from ngdt._util.numbers import format_probability
from ngdt._util.text import one_line
from ngdt.explanation._context import Context, encoded_rows, format_prediction
from ngdt.explanation._contributions import contributions, contributions_of_leaf, values_at_nodes
from ngdt.explanation._explanations import Explains, Explanation
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
        return None, self._mean(Samples(points))

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
            outputs = {f"probability of {self.prediction.label}": self._outputs.argmax()}
        else:
            titles = context.titles_of_targets(len(self._outputs), "prediction")
            outputs = {title: k for k, title in enumerate(titles)}
        names = self._row.names(context)
        weights = np.where(self.contributions == 0, 0.0, np.nan)
        return {
            title: WeightedSum._of(names, weights[:, k], self._row.x, context.mean,
                                   self._outputs[k], self.contributions[:, k])
            for title, k in outputs.items()}

    def _panels(self):
        if self._context.classes is not None:
            ((name, terms),) = self.sums().items()
            return [(f"{name}: {format_probability(terms.total)}", True, None)]
        return [(f"{name}: {format_prediction(terms.total, most)}", True, None)
                for (name, terms), most in zip(
                    self.sums().items(), self._context.roundings, strict=True)]

    def _lines(self, n_terms):
        lines = [f"{self.prediction}, {self._votes_text()}"]
        for (title, *_), terms in zip(self._panels(), self.sums().values(), strict=True):
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
        low, high = (np.ravel(end(axis=0)).tolist() for end in (self.votes.min, self.votes.max))
        texts = (f"{format_prediction(a, most)} to {format_prediction(b, most)}"
                 for a, b, most in zip(low, high, self._context.roundings, strict=True))
        return f"trees: {', '.join(with_targets(self._context.captions.target_names, texts))}"


class ExplainsForest(Explains):
    """Mixin of forests, which explain their predictions."""

    def _explanations(self, X, feature_names):
        self._check_trees_are_trained("explain")
        trees, ensemble = self.estimators_, self._ensemble()
        context = Context(trees, captions_of(trees[0], feature_names=feature_names), is_forest=True)
        is_classifier = context.classes is not None
        leaf_means = [each._sample_summary.leaf_means for each in trees]
        values = [
            values_at_nodes(each.tree_, each._sample_summary.leaf_averages(),
                            each.n_node_samples_[each.tree_.n_internal:], is_classifier)
            for each in trees]
        X, rows = encoded_rows(self, X)
        data = Samples(X)
        leaves, outputs = self._leaves(data), self._mean(data)
        by_tree = np.stack([
            tree.leaf_predictions(own.copy(), data)
            for tree, own in zip(ensemble.trees, leaves.T, strict=True)], axis=1)
        base = np.mean([at_nodes[0] for at_nodes in values], axis=0)
        explanations = []
        for i, row in enumerate(rows):
            added = []
            for tree, at_nodes, means, leaf in zip(
                    ensemble.trees, values, leaf_means, leaves[i], strict=True):
                added.append(contributions(tree, at_nodes, leaf, row.x, context.mean, context.std))
                if means is not None:
                    added[-1] += contributions_of_leaf(
                        tree, leaf, row.x, means[leaf], is_classifier)
            explanations.append(ForestExplanation(
                context.prediction(outputs[i]), context, row, outputs[i],
                _votes(context, by_tree[i]), base, np.mean(added, axis=0), ensemble.trees,
                partial(self._mean, ensemble=ensemble)))
        return explanations


def _votes(context, outputs):
    """Predictions of the trees, from their outputs of shape (n_trees, n_outputs)."""
    if context.classes is None:
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs
    return dict(Counter(context.classes[outputs.argmax(axis=1)].tolist()).most_common())
