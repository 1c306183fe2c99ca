"""Trees as pages of HTML whose branches fold."""

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

import numpy as np

from ngdt._core.structure import has_slopes, sums_below, traverse
from ngdt._inspection.conditions import first_condition
from ngdt._inspection.leaf_formulas import formula_of, log_odds_of, mean_texts
from ngdt._inspection.path_constants import readable_captions
from ngdt._inspection.pipelines import unwrap
from ngdt._inspection.rules import factor, hidden_terms, terms_of, with_targets
from ngdt._util.container import writing
from ngdt._util.numbers import count, format_number, format_probability, place_between
from ngdt._util.text import typeset, visible
from ngdt._util.validation import check_counts
from ngdt.export._parts import (
    leaf_block,
    leaf_lines,
    notes_on_missing,
    notes_on_probabilities,
    terms_to_show,
    writable,
)
from ngdt.plotting._style import class_colors

_MAX_CLASSES = 4       # that a node lists


def export_html(
    model, *, path=None, title=None, feature_names=None, class_names=None, n_terms="auto",
    precision=None, max_depth=None, unfolded=3, X=None,
):
    """Export a tree as a page of HTML whose branches fold.

    The page is a single file, which works without a network, by the keyboard, with screen readers,
    and in light and dark mode. Each node has its rule, the number of training samples, and the
    shares of their classes or the mean prediction. A weighted sum is a list of terms, in the units
    of the table, with the largest effect first: the absolute weight times the standard deviation of
    the feature. Bars point to the right if larger values lead to the branch "no" or, in a linear
    leaf, raise the prediction.

    Parameters
    ----------
    model : Tree, fitted estimator or Pipeline
        As for `export_text`.
    path : str or path-like, default=None
        File to write. An existing one is replaced when the new one is complete. None writes none.
    title : str, default=None
        None takes what the tree is (`ObliqueTreeClassifier.kind_`) or, for a `Tree`, "Decision
        tree". With another title, it is written below.
    feature_names, class_names : sequence, default=None
        As for `export_text`.
    n_terms : int, None or "auto", default="auto"
        Number of features of a split or a linear leaf that are written. None writes all. "auto"
        writes 10, and all of a tree of one linear leaf.
    precision : int or None, default=None
        As for `export_text`.
    max_depth : int or None, default=None
        Levels of splits to write. None writes all.
    unfolded : int or None, default=3
        Levels of splits that are unfolded at first. None unfolds all.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features), default=None
        Samples to take for the training samples.

    Returns
    -------
    str
        The page.

    See Also
    --------
    ngdt.plotting.plot_tree : The tree as a picture.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.export import export_html
    >>> tree = Tree([[0.0, 2.0]], [1.0], [~0], [~1], [[0.0], [1.0]])
    >>> page = export_html(tree, feature_names=["age", "income"])
    >>> "income ≤ 0.5" in page
    True

    In a notebook, ``IPython.display.HTML(export_html(tree))`` shows it.
    """
    check_counts(precision=precision, max_depth=max_depth, unfolded=unfolded)
    captions = readable_captions(
        model, feature_names=feature_names, class_names=class_names, X=X)
    n_terms = terms_to_show(n_terms, captions.tree, 10)
    nodes = _Nodes(captions, n_terms, precision)
    script = _file("_tree.js")
    # A browser runs the script with this hash, and no script that a name may contain.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    inner, size = unwrap(model)[1], _size(captions)
    notes = notes_on_probabilities(captions, inner) + notes_on_missing(captions, n_terms)
    kind = getattr(inner, "kind_", "decision tree")
    kind = f"{kind[0].upper()}{kind[1:]}"
    page = writable(Template(_file("_tree.html")).substitute(
        title=escaped(kind if title is None else str(title)),
        summary=escaped(size if title is None else f"{kind}: {size}"), key=nodes.key(),
        notes=escaped(" ".join(f"{note[0].upper()}{note[1:]}." for note in notes)),
        script=script, hash=digest, items="\n".join(_items(captions, nodes, max_depth, unfolded))))
    if path is not None:
        with writing(path) as file:
            file.write(page.encode())
    return page


@cache
def _file(name):
    return files("ngdt.export").joinpath(name).read_text(encoding="utf-8")


def _size(captions):
    tree, counts = captions.tree, captions.n_node_samples
    leaves = count(tree.n_leaves, "leaf", "leaves")
    samples = "" if counts is None else f", {counts[0]} samples"
    return f"{leaves}, depth {tree.max_depth}{samples}"


def _items(captions, nodes, max_depth, unfolded):
    """The items of the tree, line by line."""
    answer = None
    for type_, item, depth in traverse(captions.tree, max_depth, captions.right_first):
        if type_ == "split":
            is_open = unfolded is None or depth < unfolded
            expanded = f' aria-expanded="{"true" if is_open else "false"}"'
            yield _item(nodes.split(item), answer, depth, expanded)
            yield '<ul role="group">'
            answer = "yes"
        elif type_ == "else":
            answer = "no"
        elif type_ == "end":
            yield "</ul></li>"
        else:
            node = nodes.leaf(item) if type_ == "leaf" else nodes.cut(item)
            yield _item(node, answer, depth) + "</li>"


def _item(node, answer, depth, expanded=""):
    name, head, body = node
    said, shown = ("", "") if answer is None else (
        f"{answer}: ", f'<span class="answer">{answer}</span> ')
    return (
        f'<li role="treeitem" tabindex="{-1 if depth else 0}" aria-level="{depth + 1}"'
        f'{expanded} aria-label="{escaped(said + name)}">'
        f'<div class="node"><div class="head">{shown}{head}</div>{body}</div>')


class _Nodes:
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
        if condition.is_sum and not condition.is_repeated:
            rule = typeset(f"{condition.short_subject} <= {format_number(condition.limit)}")
            terms = self._terms(captions.tree.dense_weights([node])[0], condition.rule.features,
                                condition.rule.weights)
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
        how = captions, leaf, self._n_terms, self._digits
        text = "; ".join(leaf_lines(*how))      # which is read aloud, other than a table
        name, shares = "; ".join([f"leaf: {text}", *self._count(number)]), self._shares(number)
        if not has_slopes(captions.tree, leaf):
            return name, self._head(f"→ {text}", number), shares
        formulas = "\n".join(f"<bdi>{escaped(line)}</bdi>" for line in leaf_block(*how))
        return name, self._head("→ linear", number), (
            f'{self._slopes(leaf)}<pre class="quiet">{formulas}</pre>{shares}')

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
            rows.append(f'<tr><td class="number">{typeset(format_number(number))}</td>'
                        f"<td>× {name}</td><td>{bar}</td></tr>")
        hidden = hidden_terms(captions, effect, self._n_terms)
        caption = f"<caption>{escaped(hidden)}</caption>" if hidden else ""
        return f'<table class="terms" role="presentation">{caption}{"".join(rows)}</table>'

    def _slopes(self, leaf):
        """The terms of a linear leaf, if it has a single sum."""
        captions = log_odds_of(self._captions)
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
        text = f'<span class="quiet"><bdi>{escaped(*self._mean(number))}</bdi></span>'
        tree = self._captions.tree
        if self._captions.class_names is not None:
            bars = "".join(
                f'<i style="width:{100 * share:.2f}%;background:{color}"></i>'
                for color, share in zip(self._colors, prediction, strict=True))
            return f'<span class="shares" aria-hidden="true">{bars}</span>{text}'
        if number >= tree.n_internal and not has_slopes(tree, number - tree.n_internal):
            text = ""       # the head of a constant leaf says it
        if len(prediction) > 1 or self._range[0] == self._range[1]:
            return text
        place = 100 * place_between(prediction[0], *self._range)
        return ('<span class="scale" aria-hidden="true">'
                f'<i style="left:{place:.1f}%"></i></span>{text}')


def escaped(text):
    """Escape a text, so that it has no tag, no entity, no end of an attribute and no controls."""
    return escape(visible(text), quote=True)


def _name(name):
    return f"<bdi>{escaped(name)}</bdi>"


def _bar(is_positive, share):
    """A bar from the middle to the right or to the left, for a share of the largest effect."""
    left = 50 if is_positive else 50 - 50 * share
    return f'<span class="bar"><i style="left:{left:.1f}%;width:{50 * share:.1f}%"></i></span>'
