"""Explanations of the predictions of a tree."""

from dataclasses import dataclass, replace

import numpy as np

from ngdt._core.structure import has_slopes, paths
from ngdt._inspection.captions import captions_of
from ngdt._util.numbers import format_value
from ngdt._util.text import one_line, wrapped
from ngdt.explanation._changes import Search
from ngdt.explanation._context import Context, Prediction, encoded_rows, format_prediction
from ngdt.explanation._explanations import Explains, Explanation
from ngdt.explanation._goals import LeafGoal, conditions_of
from ngdt.explanation._regions import Regions, norms
from ngdt.explanation._sums import WeightedSum
from ngdt.explanation._text import answers_of, change_lines, rule_and_reason, term_lines


@dataclass(frozen=True)
class Decision:
    """The decision of a node of the path for a sample.

    Attributes
    ----------
    node : int
    is_right : bool
        Whether the sample goes to the right child.
    margin : float
        Score of the sample, its weighted sum minus the threshold: positive if it goes right.
    distance : float
        Smallest change of the features that brings the sample to the boundary of this split, in
        standard deviations of the training samples. Infinite where no feature that varied in
        training has a weight.
    terms : WeightedSum
        The margin, term by term.
    otherwise : Prediction
        Of the leaf that the sample would reach from the other child.
    """

    node: int
    is_right: bool
    margin: float
    distance: float
    terms: WeightedSum
    otherwise: Prediction


@dataclass(frozen=True, repr=False, eq=False)
class TreeExplanation(Explanation):
    """The explanation of the prediction of a tree for one sample, and its changes.

    Attributes
    ----------
    prediction : Prediction
        The class and its probability, or the number.
    leaf : int
        The leaf that the sample reaches.
    path : tuple of Decision
        The decisions on the way, from the root down; each has its terms.
    leaf_terms : dict of str to WeightedSum
        Of a linear leaf, by target; else empty. For regression, the total is the prediction before
        it is cut at the limits of the leaf. For two classes, it is the log-odds of the second one,
        as in the formula of the leaf. For more, it is the difference between the logits of the
        predicted class and of the next one, where a class without a logit has zero.
        Means are over the training samples in the leaf.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> iris = load_iris(as_frame=True)
    >>> y = iris.target_names[iris.target]
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=None).fit(iris.data, y)
    >>> explanation = tree.explain(iris.data[100:])[0]
    >>> explanation.prediction.value, explanation.leaf
    ('virginica', 2)
    >>> [decision.is_right for decision in explanation.path]
    [True, True]
    >>> change = explanation.changes_of_one_column()[0]
    >>> change.texts, change.prediction.value
    ({'petal width (cm)': '1.75'}, 'versicolor')
    """

    leaf: int
    path: tuple
    leaf_terms: dict

    def _goal(self, target):
        if self._context.classes is None and target is None:
            return LeafGoal(self.leaf)
        return super()._goal(target)

    def _outputs_of(self, points):
        tree = self._context.captions.tree
        data = tree.samples_of(points)
        leaf = tree.apply_samples(data)
        return leaf, tree.leaf_predictions(leaf, data)

    def _boundaries(self, goal):
        tree = self._context.captions.tree
        sums = [(tree.weights, tree.thresholds, np.abs(tree.thresholds))]
        if tree.slopes is not None:
            of_leaves = [of_leaf for leaf in range(tree.n_leaves)
                         for *of_leaf, _ in conditions_of(goal, tree, leaf)]
            sums += [[*map(np.concatenate, zip(*of_leaves, strict=True))]] * bool(of_leaves)
        return sums

    def smallest_change(self, target=None, fixed=(), within_range=True):
        """The smallest change of all numbers together that changes the prediction.

        It is the shortest one in standard deviations of the training samples: the nearest point of
        all leaves with another prediction, which are polytopes. Numbers that were whole in
        training are rounded to whole ones, if this leads to the target, too; a shorter change to
        whole ones may be missed. Categories, missing values and columns with one or two values in
        training stay as they are.

        Parameters
        ----------
        target, fixed, within_range
            As for `changes_of_one_column`.

        Returns
        -------
        Change or None
            None if nothing that may change leads to the target.
        """
        search = Search(self, target, fixed, within_range)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            found = [search.of_all_numbers(Regions(self._context.captions.tree, search).nearest)]
            if search.box.is_whole.any():       # one may be rounded by less than several
                found += search.of_one_column()
        return min((each for each in found if each is not None and np.isfinite(each.distance)),
                   key=lambda change: change.distance, default=None)

    def _lines(self, n_terms):
        captions = self._context.captions
        counts, number = captions.n_node_samples, captions.tree.n_internal + self.leaf
        lines = [f"{self.prediction}{'' if counts is None else f' [{counts[number]}]'}"]
        for decision in self.path:
            condition, reason = rule_and_reason(self, decision)
            answer = answers_of(captions, decision.node)[decision.is_right]
            lines += [*wrapped(f"if {condition}:"),
                      f"    {answer}{reason}; otherwise the tree predicts {decision.otherwise}"]
            if condition.is_sum and not condition.is_repeated:
                lines += term_lines(decision.terms, n_terms)
        for name, terms in self.leaf_terms.items():
            lines += [self._leaf_title(name, terms), *term_lines(terms, n_terms)]
        of_classes = self._context.classes is not None
        if captions.tree.n_internal or of_classes:
            lines += change_lines("class" if of_classes else "leaf", self.changes_of_one_column(),
                                  self.smallest_change(), n_terms)
        return lines

    def sums(self):
        """The margins of the path and the sums of a linear leaf.

        Returns
        -------
        dict of str to WeightedSum
            By what is summed up, such as "node 0".
        """
        margins = {f"node {decision.node}": decision.terms for decision in self.path}
        return margins | {
            f"leaf {self.leaf}{name and ': '}{name}": terms
            for name, terms in self.leaf_terms.items()}

    def _panels(self):
        return [(*self._title(each), self._sides_of(each)) for each in self.path] + [
            (self._leaf_title(*each), True, None) for each in self.leaf_terms.items()]

    def _title(self, decision):
        """The rule of a decision with its answer, and with the reason where no bar has it."""
        captions, node = self._context.captions, decision.node
        condition, reason = rule_and_reason(self, decision)
        has_bars = not (condition.is_repeated or decision.terms.by_column()._is_label())
        if has_bars:
            reason = ""
        elif condition.is_repeated:
            reason = f", by {format_value(abs(decision.margin))}"
        if condition.is_sum and not condition.is_repeated:
            condition = replace(condition, subject=condition.short_subject, name="")
        answer = answers_of(captions, node)[decision.is_right]
        return f"{condition.typeset}? {answer}{reason}", has_bars

    def _sides_of(self, decision):
        of_left, of_right = answers_of(self._context.captions, decision.node)
        here, other = self.prediction, decision.otherwise
        left, right = (other, here) if decision.is_right else (here, other)
        return f"{of_left}: predicts {left}", f"{of_right}: predicts {right}"

    def _leaf_title(self, name, terms):
        """The title of a sum of the linear leaf, of a target or of two classes, with its total."""
        if self._context.classes is not None:
            return f"linear leaf: log-odds of {name}: {format_value(terms.total)}"
        output = [*self.leaf_terms].index(name)
        total, value = (format_prediction(float(each), self._context.roundings[output])
                        for each in (terms.total, self._outputs[output]))
        cut = "" if total == value else f", cut to {value}"
        return f"linear leaf{name and ', '}{name}: {total}{cut}"


class ExplainsTree(Explains):
    """Mixin of trees, which explain their predictions."""

    def _explanations(self, X, feature_names):
        context = Context([self], captions_of(self, feature_names=feature_names))
        X, rows = encoded_rows(self, X)
        return [_explain(context, X[[i]], row) for i, row in enumerate(rows)]


def _explain(context, X, row):
    """The explanation of a sample, given as a matrix that the tree reads, and as a `Row`."""
    tree, names = context.captions.tree, row.names(context)
    data = tree.samples_of(X)
    leaf = tree.apply_samples(data)
    path, (outputs,) = paths(tree, leaf), tree.leaf_predictions(leaf, data)
    nodes, is_right = path.indices, path.data > 0
    margins = tree.scores_of(data)[0, nodes]
    other = np.where(is_right, tree.children_left[nodes], tree.children_right[nodes])
    samples = np.zeros(len(nodes), dtype=np.int32)
    other_leaf = tree.apply_samples(data, samples, other.astype(np.int32))
    otherwise = tree.leaf_predictions(other_leaf, data, samples)
    weights = tree.dense_weights(nodes)
    terms = [WeightedSum._of(names, weights[k], row.x, context.mean, margins[k])
             for k in range(len(nodes))]
    margins, spread = np.array([each.total for each in terms]), norms(weights * context.std)
    distance = np.where(spread > 0, np.abs(margins) / spread, np.inf)
    decisions = tuple(
        Decision(int(node), bool(is_right[k]), float(margins[k]), float(distance[k]), terms[k],
                 context.prediction(otherwise[k]))
        for k, node in enumerate(nodes))
    return TreeExplanation(
        context.prediction(outputs), context, row, outputs, int(leaf[0]), decisions,
        _leaf_terms(context, names, row.x, leaf[0], outputs))


def _leaf_terms(context, names, x, leaf, outputs):
    """The weighted sums of a linear leaf, by target."""
    tree, summary = context.captions.tree, context.captions.summary
    if not has_slopes(tree, leaf):
        return {}
    mean = context.mean if summary is None else summary.leaf_means[leaf]
    slopes = tree.slopes[leaf]
    if context.classes is not None:
        # Of two classes, the second one counts for the formula of a leaf, too.
        of, against = (1, 0) if len(outputs) == 2 else np.argsort(-outputs, kind="stable")[:2]
        classes = context.captions.class_names
        title = f"{one_line(classes[of])} against {one_line(classes[against])}"
        return {title: WeightedSum._of(
            names, slopes[of] - slopes[against], x, mean, outputs[of] - outputs[against])}
    totals = tree.values[leaf] + slopes @ x
    return {
        title: WeightedSum._of(names, slope, x, mean, total)
        for title, slope, total in zip(
            context.titles_of_targets(len(totals), ""), slopes, totals, strict=True)}
