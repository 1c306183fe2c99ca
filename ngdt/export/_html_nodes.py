"""Nodes and leaves of a page, with names for screen readers."""

from html import escape

import numpy as np

from ngdt._core.structure import has_slopes, sums_below
from ngdt._encoding.categories import visible
from ngdt._inspection.leaf_formulas import (
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
from ngdt.export._parts import leaf_lines, linear_model_lines
from ngdt.plotting._style import class_colors

_MAX_CLASSES = 4       # that a node lists


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
        how = self._n_terms, self._digits
        lines = (linear_model_lines(captions, *how) if is_linear_model(captions.tree) else
                 leaf_lines(captions, leaf, *how))
        text = "; ".join(line.strip() for line in lines)
        name, shares = "; ".join([f"leaf: {text}", *self._count(number)]), self._shares(number)
        if not has_slopes(captions.tree, leaf):
            return name, self._head(f"→ {text}", number), shares
        head = self._head("→ " + ", ".join(["linear", *self._mean(number)]), number)
        formulas = "\n".join(f"<bdi>{escaped(line)}</bdi>" for line in lines)
        return name, head, f'{self._slopes(leaf)}<pre class="quiet">{formulas}</pre>{shares}'

    def key(self):
        """Key of the colours of the classes."""
        names = self._captions.class_names
        if names is None:
            return ""
        entries = "".join(
            f'<span><i style="background:{color}"></i>{_name(name)}</span>'
            for color, name in zip(self._colors, names, strict=True))
        return f'<p class="key">{entries}</p>'

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
        largest = np.argsort(-prediction, kind="stable")[:_MAX_CLASSES]
        return [", ".join(
            f"{self._captions.class_names[k]}: {format_probability(prediction[k], whole=100)} %"
            for k in largest)]

    def _terms(self, weights, features, numbers):
        """The terms of a sum as a table."""
        captions = self._captions
        _, effect = terms_of(captions, weights)
        rows = []
        for j, number, length in zip(features, numbers, effect, strict=False):
            name, bar = _name(factor(captions, j)), _bar(weights[j] > 0, length)
            rows.append(f'<tr><td class="number">{_number(number)}</td><td>× {name}</td>'
                        f"<td>{bar}</td></tr>")
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


def escaped(text):
    """Escape a text, so that it has no tag, no entity, no end of an attribute and no controls."""
    return escape(visible(text), quote=True)


def _name(name):
    return f"<bdi>{escaped(name)}</bdi>"


def _number(number):
    return format_number(number).replace("-", "−")


def _bar(is_positive, share):
    """A bar from the middle to the right or to the left, for a share of the largest effect."""
    left = 50 if is_positive else 50 - 50 * share
    return f'<span class="bar"><i style="left:{left:.1f}%;width:{50 * share:.1f}%"></i></span>'
