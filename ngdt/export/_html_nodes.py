"""Nodes and leaves of a page, with names for screen readers."""

from html import escape

import numpy as np

from ngdt._core.structure import has_slopes, sums_below
from ngdt._encoding.categories import visible
from ngdt._inspection.leaf_formulas import (
    LinearTable,
    formula_of,
    has_log_odds,
    is_linear_model,
    log_odds_of,
    mean_texts,
)
from ngdt._inspection.rules import (
    factor,
    first_condition,
    hidden_terms,
    is_sum,
    repeats_root,
    rule_of,
    terms_of,
    with_targets,
)
from ngdt._util.numbers import count, format_number, format_probability, place_between
from ngdt.export._parts import (
    leaf_lines,
    linear_model_lines,
    note_on_missing,
    note_on_shrinkage,
)
from ngdt.plotting._style import class_colors

_MAX_CLASSES = 8       # that a leaf lists


class NodeHtml:
    """Nodes as (name, head, body): the first is text, the others are HTML.

    Parameters
    ----------
    captions : Captions
    n_terms, digits
        As for `rule_of`.
    """

    def __init__(self, captions, n_terms, digits):
        self._captions, self._n_terms, self._digits = captions, n_terms, digits
        self._predictions = captions.node_predictions()
        self._n_leaves = sums_below(captions.tree, np.ones(captions.tree.n_leaves))
        self._colors = class_colors(captions.tree.n_outputs)
        known = self._predictions[~np.isnan(self._predictions).any(axis=1), 0]
        self._range = (known.min(), known.max()) if len(known) else (0.0, 0.0)

    def split(self, node):
        """A split: its rule, the samples, and the predictions for them."""
        captions = self._captions
        condition = first_condition(captions, node, self._n_terms, self._digits)
        rule, terms = condition.typeset, ""
        if is_sum(captions, node) and not repeats_root(captions, node):
            of_node = rule_of(captions, node, self._n_terms, self._digits)
            rule = f"sum ≤ {_number(of_node.threshold)}"
            terms = self._terms(
                captions.tree.dense_weights([node])[0], of_node.features, of_node.weights)
        if not condition.is_certain:
            terms += '<p class="quiet">Rounding of the sum decides for some samples.</p>'
        name = [f"if {condition}", *self._count(node), *self._mean(node)]
        return "; ".join(name), self._head(rule, node), terms + self._shares(node)

    def cut(self, node):
        """A subtree that is not written."""
        leaves = f"{self._n_leaves[node]:.0f} leaves"
        name = [leaves, *self._count(node), *self._mean(node)]
        return "; ".join(name), self._head(f"… {leaves}", node), self._shares(node)

    def leaf(self, leaf):
        """A leaf and its prediction."""
        captions, number = self._captions, self._captions.tree.n_internal + leaf
        if is_linear_model(captions.tree):
            return self._linear_model(number)
        lines = leaf_lines(captions, leaf, self._n_terms, self._digits)
        text = "; ".join(lines)
        name = "; ".join([f"leaf: {text}", *self._count(number)])
        shares = (self._shares if captions.class_names is None else self._class_bars)(number)
        if not has_slopes(captions.tree, leaf):
            return name, self._head(f"→ {text}", number), shares
        head = self._head("→ " + ", ".join(["linear", *self._mean(number)]), number)
        formulas = "".join(f'<p class="quiet"><bdi>{escaped(line)}</bdi></p>' for line in lines)
        return name, head, self._slopes(leaf) + formulas + shares

    def _linear_model(self, number):
        """A linear model as a table, with a row for each feature."""
        table = LinearTable(self._captions, self._n_terms, self._digits)
        is_sum = not table.heads
        rows = [_row(map(_number, table.constants), "")]
        for name, numbers, effect in zip(table.names, table.slopes, table.effect, strict=True):
            bar = _bar(numbers[0] > 0, effect) if is_sum else ""
            rows.append(_row(map(_number, numbers), f"× {_name(name)}", bar))
        for word, numbers in zip(("at least", "at most"), table.limits, strict=False):
            rows.append(_row(map(_number, numbers), word))
        heads = "" if is_sum else "<tr>" + "".join(
            f'<th class="number">{_name(head)}</th>' for head in table.heads) + "</tr>"
        caption = f"<caption>{escaped(table.hidden)}</caption>" if table.hidden else ""
        body = (f'<p class="quiet"><bdi>{escaped(table.title)}</bdi>, the sum of</p>'
                f'<div class="wide"><table class="terms" role="presentation">{caption}{heads}'
                f'{"".join(rows)}</table></div>')
        lines = linear_model_lines(self._captions, self._n_terms, self._digits)
        name = "; ".join([*(line.strip() for line in lines), *self._count(number)])
        head = self._head("→ " + ", ".join(["linear", *self._mean(number)]), number)
        shares = "" if self._captions.class_names is None else self._class_bars(number)
        return name, head, body + shares

    def key(self):
        """Key of the colours of the classes."""
        names = self._captions.class_names
        if names is None:
            return ""
        entries = "".join(
            f'<span><i style="background:{color}"></i>{_name(name)}</span>'
            for color, name in zip(self._colors, names, strict=True))
        return f'<p class="key">{entries}</p>'

    def remarks(self, estimator):
        """Remarks on the bars and on the numbers of an estimator, as text."""
        captions, tree = self._captions, self._captions.tree
        is_linear, has_odds = has_slopes(tree), has_log_odds(captions)
        of_scores = is_linear and captions.class_names is not None and not has_odds
        has_sums = any(is_sum(captions, node) for node in range(tree.n_internal))
        leads = ["lead to “no”"] if has_sums else []
        if is_linear and not of_scores:
            raised = f"the odds of {captions.class_names[1]}" if has_odds else "the prediction"
            leads.append(f"{'in a linear leaf, ' if has_sums else ''}raise {raised}")
        remarks = ["Samples that meet a condition go to “yes”, others to “no”"] * bool(
            tree.n_internal)
        if leads:
            effect = "" if captions.summary is None else " × standard deviation"
            remarks.append(f"A bar beside a term is its effect, |weight|{effect}, to the right "
                           f"where larger values {' or, '.join(leads)}")
        of_leaf = "A linear leaf" if tree.n_internal else "The model"
        if of_scores:
            remarks.append(f"{of_leaf} has a score for each class; softmax of the scores gives the "
                           "probabilities")
        if is_linear:
            shown = "prediction at the mean" if captions.class_names is None else (
                "mean probabilities")
            remarks.append(f"{of_leaf} has the {shown} of its samples" if tree.n_internal else
                           f"What is written first is the {shown} of the samples")
        remarks = remarks or ["All samples have the same prediction"]
        for note in (note_on_shrinkage(estimator), note_on_missing(captions)):
            remarks += [note[:1].upper() + note[1:]] * bool(note)
        return ". ".join(remarks) + "."

    # --- elements

    def _head(self, rule, number):
        counts = "".join(f' <span class="count">{text}</span>' for text in self._count(number))
        return f'<span class="rule"><bdi>{escaped(rule)}</bdi></span>{counts}'

    def _count(self, number):
        counts = self._captions.n_node_samples
        if counts is None:
            return []
        share = 100 * counts[number] / max(counts[0], 1)
        return [f"{count(counts[number], 'sample')} ({share:.3g} %)"]

    def _mean(self, number):
        """The mean prediction as text."""
        prediction = self._predictions[number]
        if np.isnan(prediction).any():
            return []
        if self._captions.class_names is None:
            values = mean_texts(self._captions, prediction, self._digits)
            return [f"mean {', '.join(with_targets(self._captions.target_names, values))}"]
        best = prediction.argmax()
        share = format_probability(prediction[best], whole=100)
        return [f"{self._captions.class_names[best]}: {share} %"]

    def _terms(self, weights, features, numbers):
        """The terms of a sum as a table."""
        captions = self._captions
        _, effect = terms_of(captions, weights)
        rows = []
        for j, number, length in zip(features, numbers, effect, strict=False):
            name = f"× {_name(factor(captions, j))}"
            rows.append(_row([_number(number)], name, _bar(weights[j] > 0, length)))
        hidden = hidden_terms(captions, effect, self._n_terms)
        caption = f"<caption>{escaped(hidden)}</caption>" if hidden else ""
        return f'<table class="terms" role="presentation">{caption}{"".join(rows)}</table>'

    def _slopes(self, leaf):
        """The terms of a linear leaf, if it has a single sum."""
        captions = log_odds_of(self._captions) if has_log_odds(self._captions) else self._captions
        tree = captions.tree
        if tree.n_outputs > 1:
            return ""
        formula = formula_of(captions, leaf, 0, self._n_terms, self._digits)
        return self._terms(tree.slopes[leaf, 0], formula.features, formula.slopes)

    def _shares(self, number):
        """The shares of the classes in one bar, or the place of a value among all."""
        prediction = self._predictions[number]
        if np.isnan(prediction).any():
            return ""
        if self._captions.class_names is not None:
            bars = "".join(
                f'<i style="width:{100 * share:.2f}%;background:{color}"></i>'
                for color, share in zip(self._colors, prediction, strict=True))
            return (f'<span class="shares" aria-hidden="true">{bars}</span>'
                    f'<span class="quiet"><bdi>{escaped(*self._mean(number))}</bdi></span>')
        text = f'<span class="quiet">{escaped(*self._mean(number))}</span>' * (
            number < self._captions.tree.n_internal)
        if len(prediction) > 1:
            return text
        place = 100 * place_between(prediction[0], *self._range)
        return (f'<span class="scale" aria-hidden="true"><i style="left:{place:.1f}%"></i></span>'
                f"{text}")

    def _class_bars(self, number):
        """A bar for each class, the most probable first."""
        prediction, names = self._predictions[number], self._captions.class_names
        if np.isnan(prediction).any():
            return ""
        order = np.argsort(-prediction, kind="stable")
        bars = "".join(
            f'<div class="share"><span><i style="width:{100 * prediction[k]:.2f}%;'
            f'background:{self._colors[k]}"></i></span>'
            f"<span>{_name(names[k])}: {format_probability(prediction[k], whole=100)} %</span>"
            "</div>"
            for k in order[:_MAX_CLASSES])
        if len(order) <= _MAX_CLASSES:
            return bars
        rest = 100 * prediction[order[_MAX_CLASSES:]].sum()
        n_more = len(order) - _MAX_CLASSES
        return f'{bars}<span class="quiet">{n_more} more: {rest:.3g} %</span>'


def escaped(text):
    """Escape a text, so that it has no tag, no entity, no end of an attribute and no controls."""
    return escape(visible(text), quote=True)


def _name(name):
    return f"<bdi>{escaped(name)}</bdi>"


def _number(number):
    return format_number(number).replace("-", "−")


def _row(numbers, name, bar=""):
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    return f"<tr>{cells}<td>{name}</td><td>{bar}</td></tr>"


def _bar(is_positive, share):
    """A bar from the middle to the right or to the left, for a share of the largest effect."""
    left = 50 if is_positive else 50 - 50 * share
    return f'<span class="bar"><i style="left:{left:.1f}%;width:{50 * share:.1f}%"></i></span>'
