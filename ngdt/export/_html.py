"""Trees as pages of HTML whose branches fold."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from string import Template

from ngdt._files.container import writing
from ngdt._inspection.path_constants import readable_captions
from ngdt._inspection.pipelines import unwrap
from ngdt._inspection.rules import right_first
from ngdt._util.numbers import count
from ngdt._util.validation import check_counts
from ngdt.export._html_nodes import NodeHtml, escaped
from ngdt.export._parts import (
    note_on_missing,
    note_on_shrinkage,
    terms_to_show,
    traverse,
    writable,
)


def export_html(
    model, *, path=None, title=None, feature_names=None, class_names=None, n_terms="auto",
    precision=None, max_depth=None, unfolded=3, X=None,
):
    """Export a tree as a page of HTML whose branches fold.

    The page is a single file, which works without a network, by the keyboard, with screen readers,
    and in light and dark mode. Each node has its rule, the number of training samples, and the
    shares of their classes or the mean prediction. A weighted sum is a list of terms, in the units
    of the table, with the largest effect first: the absolute weight times the standard deviation of
    the feature. Bars point to the right if larger values lead to "no" or, in a linear leaf, raise
    the prediction.

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
    X : array-like or CSR matrix of shape (n_samples, n_features), default=None
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
    nodes = NodeHtml(captions, terms_to_show(n_terms, captions.tree, 10), precision)
    script = _file("_tree.js")
    # A browser runs the script with this hash, and no script that a name may contain.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    kind, size = getattr(unwrap(model)[1], "kind_", "decision tree"), _size(captions)
    kind = f"{kind[0].upper()}{kind[1:]}"
    page = writable(Template(_file("_tree.html")).substitute(
        title=escaped(kind if title is None else str(title)),
        summary=escaped(size if title is None else f"{kind}: {size}"), key=nodes.key(),
        notes=escaped(". ".join(filter(None, [
            note_on_shrinkage(unwrap(model)[1]), note_on_missing(captions)]))),
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
    for type_, item, depth in traverse(captions.tree, max_depth, right_first(captions)):
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
