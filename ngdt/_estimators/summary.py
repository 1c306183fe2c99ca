"""Words for what a fit returned: the kind of a tree, and a summary of a tree or a forest."""

import html
import re
from collections import Counter
from math import isfinite
from textwrap import indent

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils._pprint import _EstimatorPrettyPrinter
from sklearn.utils.validation import check_is_fitted

from ngdt._core.structure import first_of_sums, has_slopes, parents
from ngdt._estimators.resolve import is_auto
from ngdt._inspection.leaf_formulas import log_odds_tree
from ngdt._training.choice import MIN_LEAD, PRUNED
from ngdt._util.numbers import aligned, count, format_number
from ngdt.initializers import (
    INITIALIZERS,
    InfoGain,
    Initializer,
    ModelTree,
    Pruned,
    ScoreBands,
)
from ngdt.optimizers import OPTIMIZERS, SSGD, TAO, CutLeaves, LinearLeaves, Regrow, ShrinkLeaves

# Steps after a training, which do not train a tree as a whole.
_FINISHING = {each.__name__ for each in (CutLeaves, LinearLeaves, Regrow, ShrinkLeaves)}
# Share of what sets a leaf apart from the node above, below which shrinkage is strong.
_MAX_KEPT = 0.8
# Nonzero weights of a split on average, above which splits of a table are long to read.
_MAX_WEIGHTS = 10
# Noun for an initial tree that is none of an initializer.
_GIVEN = "given tree"


class ShowsSummary:
    """Mixin of estimators that show what came out, once they are fitted.

    `_outcome` ends the text, and `summary` the page of a notebook. scikit-learn makes the page for
    `_repr_html_` and for `_repr_mimebundle_` each by itself.
    """

    # Where the page links to.
    _doc_link_module = "ngdt"
    _doc_link_template = (
        "https://ngdt.readthedocs.io/en/latest/api/generated/ngdt.{estimator_name}.html")

    def __repr__(self, N_CHAR_MAX=700):
        text = super().__repr__(N_CHAR_MAX)
        return f"<{text}: {self._outcome()}>" if self.__sklearn_is_fitted__() else text

    def _repr_html_inner(self):
        return self._with_summary(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] = self._with_summary(shown["text/html"])
        return shown

    def _with_summary(self, page):
        if not self.__sklearn_is_fitted__():
            return page
        return f"{page}<pre>{html.escape(self.summary())}</pre>"      # which keeps its lines


# scikit-learn finds by the method how to break the lines of parameters, in pipelines too.
_EstimatorPrettyPrinter._dispatch[ShowsSummary.__repr__] = (
    _EstimatorPrettyPrinter._pprint_estimator)


class SummarizesTree:
    """Mixin of trees, which say what they are, and why."""

    @property
    def kind_(self) -> str:
        """Kind of the tree: "single leaf" or "linear model", if it has one leaf, without or with
        slopes; "tree trained as a whole by TAO", with the names of the optimizers; "pruned greedy
        tree", "greedy tree", "model tree", or what else its initializer makes; or "given tree".
        """
        check_is_fitted(self)
        tree = self.tree_
        is_linear = has_slopes(tree)
        if not tree.n_internal:
            return "linear model" if is_linear else "single leaf"
        origin = _origin(self, tree)
        return f"{origin}, with linear leaves" if is_linear and origin != ModelTree.noun else origin

    def summary(self) -> str:
        """Say what the tree is, what it was compared with, and why it was chosen.

        Returns
        -------
        str
            A few sentences, one in a line: the kind of the tree (`kind_`), its size, and what
            `candidates_` or `baseline_kept_` tell. Candidates are rows of a table.
        """
        check_is_fitted(self)
        tree, text = self.tree_, self._outcome()
        n, what = _n_weights(tree)
        n += _n_slopes(tree, is_classifier(self))
        if n:
            text += f"{', ' if tree.n_internal else ': '}{count(n, 'nonzero weight')}{what}"
        sentences = [f"{text[0].upper()}{text[1:]}."]
        if self._sample_summary.tree is not tree:
            return "\n".join([*sentences, *_one_label(self)])      # what follows is of another tree
        if _chosen(self):
            of_what = " of the Brier score" * is_classifier(self)
            compared = _competition(
                self, "On held-out samples, the first one wins unless another has a clear lead, in "
                f"standard errors{of_what}:")
            sentences += [*compared, *_fewer_weights(self)] if compared else [
                "It was not compared with other trees."]
        elif self.baseline_kept_ and not self.candidates_:
            sentences.append(_kept(self))
        return "\n".join([*sentences, *_one_label(self), *getattr(self, "_edits", ())])

    def _outcome(self):
        """The kind of the tree and its size."""
        tree, kind = self.tree_, self.kind_
        if not tree.n_internal:
            return kind
        return f"{kind}: {count(tree.n_leaves, 'leaf', 'leaves')}, depth {tree.max_depth}"

    def _is_strongly_shrunk(self):
        """Return whether some leaf has lost much of what sets it apart from the node above."""
        tree, strength = self.tree_, _chosen(self).get("shrinkage")
        if not strength or not tree.n_internal or hasattr(self, "_edits") or (
                self._sample_summary.tree is not tree):
            return False
        n_above = self.n_node_samples_[parents(tree)[tree.n_internal:]].min()
        return bool(n_above / (n_above + strength) < _MAX_KEPT)

    def _surprises(self):
        """Texts of warnings: another tree than was asked for, or one with a single label."""
        one_label = _one_label(self)
        found = [" ".join(one_label)] if one_label else []
        # A race that a single leaf wins warns itself.
        is_leaf = not self.tree_.n_internal and _chosen(self)
        if self.baseline_kept_ and not is_auto(self.optimizer) and not is_leaf:
            # Without any, the training was shortened, as another warning says.
            no_limit = " and max_time=None" * (self.max_time is not None)
            hint = f" With validation_fraction=None{no_limit}, fit returns the trained tree."
            found.append(f"{_kept(self)}{hint * bool(self.validation_fraction)}")
        return found


class SummarizesForest:
    """Mixin of forests, which say of what trees they are."""

    @property
    def kind_(self) -> str:
        """Kinds of the trees (`ObliqueTreeClassifier.kind_`), with the number of each: "forest:
        tree trained as a whole by TAO (60), random oblique tree (40)".
        """
        check_is_fitted(self)
        kinds = Counter(tree.kind_ for tree in self).most_common()
        return f"forest: {', '.join(f'{kind} ({n})' for kind, n in kinds)}"

    def summary(self) -> str:
        """Say which trees the forest has, and how many leaves.

        Returns
        -------
        str
            The kinds of the trees (`ObliqueTreeClassifier.kind_`), a table of `candidates_`, and
            what was done to trees after the training.
        """
        kinds = self.kind_.removeprefix("forest: ")
        edits = Counter(each for tree in self for each in getattr(tree, "_edits", ()))
        return "\n".join([
            f"{self._outcome().capitalize()} in all: {kinds}.",
            *_competition(self, "The numbers of each kind minimise the squared error"
                          f"{' of probabilities' * is_classifier(self)} on held-out samples:"),
            *(f"{count(n, 'tree')}: {each}" for each, n in edits.items())])

    def _outcome(self):
        return (f"forest of {count(len(self), 'tree')} with "
                f"{count(self.get_n_leaves(), 'leaf', 'leaves')}")


def _origin(estimator, tree):
    """Origin of a tree with splits."""
    if estimator._sample_summary.tree is not tree:      # the user has replaced it
        return _GIVEN
    names = [] if estimator.baseline_kept_ else _trained_by(estimator)
    if names:
        return f"tree trained as a whole by {' and '.join(names)}"
    chosen = _chosen(estimator).get("candidate")
    if chosen is not None:
        return next((kind.noun for kind in (ModelTree, ScoreBands)
                     if chosen.startswith(kind.noun)), Pruned.noun)
    if estimator.candidates_:       # Ctrl-C came before one of them was chosen
        return InfoGain.noun
    if hasattr(estimator, "_noun"):
        return estimator._noun
    init = estimator.init       # of trees of partitions, and of earlier files
    if is_auto(init):
        first = next(iter(_optimizers(estimator)), None)
        if isinstance(first, str):
            first = OPTIMIZERS.get(first, SSGD)     # which "auto" stands for
        init = getattr(first, "default_init", InfoGain.name)
    if isinstance(init, str):
        init = INITIALIZERS.get(init, Initializer)
    return noun_of(init)


def noun_of(init):
    """Noun for the tree of an initializer, or for a tree that is given in its place."""
    return getattr(init, "noun", _GIVEN)


def _optimizers(estimator):
    given = estimator.optimizer
    return [] if given is None else list(given) if isinstance(given, list | tuple) else [given]


def _n_weights(tree):
    """Number of nonzero weights, those of a shared sum counted once, and words on shared sums."""
    first, count = first_of_sums(tree), np.diff(sparse.csr_array(tree.weights).indptr)
    is_repeated = first != np.arange(tree.n_internal)
    what = ", some shared by several splits" if first.any() else ", the same in all splits"
    return int(count[~is_repeated].sum()), what if is_repeated.any() else ""


def _n_slopes(tree, of_classes):
    """Number of the slopes that formulas of the leaves have: for two classes, of the log-odds."""
    if tree.slopes is None:
        return 0
    is_binary = of_classes and tree.n_outputs == 2
    return int(np.count_nonzero((log_odds_tree(tree) if is_binary else tree).slopes))


def _trained_by(estimator):
    """Names of the optimizers that have trained a tree, without the steps that finish it."""
    recorded = estimator.history_["optimizer"]
    given = [OPTIMIZERS.get(each) if isinstance(each, str) else type(each)
             for each in _optimizers(estimator)]
    # In their order, in which those of a user that record nothing have a place.
    names = [each.__name__ for each in given if each is not None and (
        each.__name__ in recorded or not getattr(each, "metrics", True))]
    names += recorded
    chosen = _chosen(estimator).get("candidate")
    if chosen is not None and not names:    # Ctrl-C may leave a tree of the folds
        names = [OPTIMIZERS[word].__name__ for word in re.findall(r"\w+", chosen)
                 if word in OPTIMIZERS]
    return [name for name in dict.fromkeys(names) if name not in _FINISHING]


def _candidates(estimator):
    """Rows of the table of candidates, as dicts; none if there was no competition."""
    table = estimator.candidates_
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _chosen(estimator):
    """Row of the candidate that won by default; an empty one if there was no competition."""
    return next((row for row in _candidates(estimator) if row.get("chosen")), {})


def _one_label(estimator):
    """The sentences on a tree of several constant leaves that predicts one label, if it does."""
    tree = estimator.tree_
    if not tree.n_internal or tree.slopes is not None or not is_classifier(estimator) or len(
            estimator.classes_) < 2:
        return []
    first, *others = np.unique(tree.values.argmax(axis=1))
    is_equal = getattr(estimator, "class_weight", None) is None
    weights = "class_weight='balanced', or " * is_equal
    return [] if others else [
        f"All leaves predict {estimator.classes_.tolist()[first]!r}, with different probabilities.",
        f"For labels of rarer classes, see {weights}a threshold of predict_proba."]


def _gave_way(estimator):
    """The sentence on one that is not worse than the chosen one, but gave way to it."""
    rows, row = _candidates(estimator), _chosen(estimator)
    lead = row.get("lead", np.inf)
    if any(each.get("failed") for each in rows) or row.get("candidate") == "single leaf":
        return []
    if any(each["candidate"] == PRUNED and each.get("lead", -np.inf) > lead > MIN_LEAD
           for each in rows):
        return ["The pruned tree wins only with a clear lead over the best of the others, too."]
    if rows[0].get("chosen") or lead > MIN_LEAD:
        return []
    if is_classifier(estimator):
        return ["Errors tell little here: the log loss decided."]
    return ["The first one is a linear model, which wins only with a clear lead."] * (
        rows[0].get("n_leaves") == 1.0 < row.get("n_leaves", 1.0))


def _fewer_weights(estimator):
    """The sentences on how to get shorter splits, if those of a classifier of a table are long.

    Columns without names, such as pixels, need not be read. Regression trees would lose much.
    """
    tree = estimator.tree_
    is_long = tree.n_nonzero > _MAX_WEIGHTS * tree.n_internal
    if not is_long or not is_classifier(estimator) or not hasattr(estimator, "feature_names_in_"):
        return []
    n_leaves = min(estimator.max_leaf_nodes or 8, 8)
    is_tao = any(isinstance(each, TAO) for each in _optimizers(estimator))
    return ["For fewer weights in a split: " + (
                "a smaller C of TAO." if is_tao else "optimizer=ngdt.optimizers.TAO(C=0.03), "
                f"max_leaf_nodes={n_leaves}, validation_fraction=None."),
            "For a single column in each split: init='pruned', optimizer=None."]


def _kept(estimator):
    """The sentence on a tree that was kept in place of the trained one."""
    # Of an edited tree, which may be a single leaf by now, the sentence on the edits comes after.
    kind = _origin(estimator, estimator.tree_) if hasattr(estimator, "_edits") else (
        estimator.kind_.replace(",", ""))
    if _chosen(estimator):
        row, first = _chosen(estimator), _candidates(estimator)[0]
        by_probabilities = is_classifier(estimator) and row["n_folds"] == first["n_folds"] and (
            row["error"] >= first["error"])
        why = "the training of the other one failed" if first.get("failed") else (
            f"it {'had better probabilities' if by_probabilities else 'was better'} than the tree "
            "that the optimizer trained")
        return f"A {kind} was kept: {why}, as summary() shows."
    article = "" if kind == ScoreBands.noun else "a "
    return f"The initial tree was kept, {article}{kind}: training made it worse."


def _competition(estimator, head):
    """The lines on the candidates that were compared; none if there was one at most."""
    rows = [row for row in _candidates(estimator) if isfinite(row.get("error", np.nan))]
    if len(rows) < 2:
        return []
    names = [name for name in ("error", "log_loss", "lead", "n_folds", "n_trees")
             if name in rows[0]]
    first = ["candidate", *(
        row["candidate"] + ", chosen" * bool(row.get("chosen")) for row in rows)]
    others = [names, *([format_number(row[name]) for name in names] for row in rows)]
    width = max(map(len, first))
    table = aligned(
        [[each.ljust(width), *more] for each, more in zip(first, others, strict=True)])
    differ = len({row.get("n_folds") for row in rows}) > 1
    failed = [row["candidate"] for row in rows if row.get("failed")]
    return [head, indent(table, "    "),
            *["Errors of fewer n_folds are of fewer samples: compare leads instead."] * differ,
            *(f"The training of {each} on all samples failed: it lost its splits, or was worse on "
              "the held-out samples than trees that had not seen them." for each in failed),
            *_gave_way(estimator),
            "For another kind, set optimizer, init or leaf."]
