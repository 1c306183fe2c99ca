"""Words for what a fit returned: the kind of a tree, and a summary of a tree or a forest."""

import html
import re
from collections import Counter
from math import isfinite

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._pprint import _EstimatorPrettyPrinter
from sklearn.utils.validation import check_is_fitted

from ngdt._core.structure import has_slopes, parents
from ngdt._estimators.resolve import is_auto, resolve_loss
from ngdt._training.choice import MIN_LOSS_LEAD
from ngdt._util.numbers import count, format_number
from ngdt.initializers import (
    INITIALIZERS,
    InfoGain,
    Initializer,
    ModelTree,
    Pruned,
    ScoreBands,
)
from ngdt.optimizers import OPTIMIZERS, SSGD, LinearLeaves, Optimizer, Regrow, ShrinkLeaves

# Steps after a training, which do not train a tree as a whole.
_FINISHING = {each.__name__ for each in (LinearLeaves, Regrow, ShrinkLeaves)}
# Share of what sets a leaf apart from the node above, below which shrinkage is strong.
_MAX_KEPT = 0.8
# Noun for an initial tree that is none of an initializer.
_GIVEN = "given tree"
_OTHERWISE = "For another kind, set optimizer, init or leaf."


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
            `candidates_` or `baseline_kept_` tell.
        """
        check_is_fitted(self)
        tree, text = self.tree_, self._headline()
        n = tree.n_nonzero + (0 if tree.slopes is None else int(np.count_nonzero(tree.slopes)))
        if self.kind_ == ScoreBands.noun:
            text += f", {count(n // tree.n_internal, 'nonzero weight')}, the same in all splits"
        elif n:
            text += f"{', ' if tree.n_internal else ': '}{count(n, 'nonzero weight')}"
        chosen = _chosen(self).get("candidate")
        sentences = [f"{text[0].upper()}{text[1:]}."]
        if chosen is not None:
            sentences += _competition(self, chosen)
        elif self.baseline_kept_:
            sentences.append(_kept(self))
        return "\n".join([*sentences, *_one_label(self), *getattr(self, "_edits", ())])

    def _headline(self):
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
        if self.baseline_kept_ and not is_auto(self.optimizer):
            found.append(
                f"{_kept(self)} With validation_fraction=None, fit returns the trained tree.")
        return found

    def _outcome(self):
        n_leaves = self.tree_.n_leaves
        return f"{self.kind_}, {n_leaves} leaves" if n_leaves > 1 else self.kind_


class SummarizesForest:
    """Mixin of forests, which say of what trees they are."""

    def summary(self) -> str:
        """Say which trees the forest has, and how many leaves.

        Returns
        -------
        str
            A few sentences, one in a line, with the kinds of the trees
            (`ObliqueTreeClassifier.kind_`).
        """
        check_is_fitted(self)
        kinds = Counter(tree.kind_ for tree in self)
        sentences = [_listed(f"{self._outcome().capitalize()} in all",
                             [f"{kind} ({n})" for kind, n in kinds.most_common()])]
        tested = {row["candidate"]: row["error"] for row in _candidates(self)
                  if isfinite(row.get("error", np.nan))}
        if len(tested) > 1:
            measure, write = _measure(self)
            if measure != "R²":
                of_classes = " of the probabilities" if is_classifier(self) else ""
                measure, write = f"Squared errors{of_classes}", _loss_text
            errors = [f"{write(error)} {_noun(name)}" for name, error in tested.items()]
            sentences += [
                "The numbers of each kind were chosen on held-out samples.",
                _listed(f"{measure}, if all trees are of one kind", errors), _OTHERWISE]
        return "\n".join(sentences)

    def _outcome(self):
        return (f"forest of {count(len(self), 'tree')} with "
                f"{count(self.get_n_leaves(), 'leaf', 'leaves')}")


def _origin(estimator, tree):
    """Origin of a tree with splits."""
    if estimator._sample_summary.tree is not tree:      # the user has replaced it
        return _GIVEN
    if estimator.baseline_kept_:
        return _baseline(estimator)
    names = _trained_by(estimator)
    if names:
        return _trained("tree", names)
    chosen = _chosen(estimator).get("candidate")
    if chosen is not None:
        return next((kind.noun for kind in (ModelTree, ScoreBands)
                     if chosen.startswith(kind.noun)), Pruned.noun)
    return _initial(estimator)


def _baseline(estimator):
    """Noun for a baseline that was kept."""
    if not is_auto(estimator.init):
        return _initial(estimator)
    # In a warm start, it is the tree that was there.
    is_greedy = estimator.tree_.n_nonzero <= estimator.tree_.n_internal
    return Pruned.noun if is_greedy else _GIVEN


def _initial(estimator):
    """Noun for the initial tree of an estimator."""
    init = estimator.init
    if is_auto(init):
        first = next(iter(_optimizers(estimator)), None)
        if isinstance(first, str):
            first = OPTIMIZERS.get(first, SSGD)     # which "auto" stands for
        init = getattr(first, "default_init", InfoGain.name)
    if isinstance(init, str):
        init = INITIALIZERS.get(init, Initializer)
    return getattr(init, "noun", _GIVEN)


def _optimizers(estimator):
    given = estimator.optimizer
    return [] if given is None else list(given) if isinstance(given, list | tuple) else [given]


def _trained_by(estimator):
    """Names of the optimizers that have trained a tree, without the steps that finish it."""
    names = list(estimator.history_["optimizer"])
    # Optimizers of a user may record nothing.
    names += [type(each).__name__ for each in _optimizers(estimator)
              if isinstance(each, Optimizer) and not each.metrics]
    chosen = _chosen(estimator).get("candidate")
    if chosen is not None and not names:    # Ctrl-C may leave a tree of the folds
        names = _optimizers_in(chosen)
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
    return [] if others else [
        f"All leaves predict {_label(estimator.classes_[first])}, with different probabilities.",
        "For labels of rarer classes, see class_weight='balanced', or a threshold of "
        "predict_proba."]


def _label(label):
    """A label of a class as in Python, a string with quotes."""
    return repr(str(label)) if isinstance(label, str) else str(label)


def _kept(estimator):
    """The sentence on a baseline that was kept."""
    kind, names = _baseline(estimator), _trained_by(estimator)
    by = f" by {' and '.join(names)}" if names else ""
    # A given tree is compared with none: samples that it was fitted to favour it.
    where = "" if kind == _GIVEN else " on held-out samples"
    is_pruned = is_auto(estimator.init) and kind == Pruned.noun
    return (f"The {kind if is_pruned else 'initial tree'} was kept: training{by} was not clearly "
            f"better{where}.")


def _competition(estimator, chosen):
    """The sentences on the candidates of the default."""
    rows = _candidates(estimator)
    tested = [row for row in rows if isfinite(row.get("error", np.nan))]
    own = next((row for row in tested if row["candidate"] == chosen), None)
    if own is None or len(tested) < 2:
        return ["It was not compared with other trees."]
    n_folds = own.get("n_folds", 1)
    folds = f", in {n_folds} folds" if n_folds > 1 else ""
    single = next((row["error"] for row in tested if row["candidate"] == "single leaf"), 0.0)
    measure, write = _measure(estimator, single)
    measure += " (log losses)" * ("log_loss" in own)
    errors = [f"{write(own['error'])}{_notes(own, n_folds)} this one"]
    errors += [f"{write(row['error'])}{_notes(row, n_folds)} {_noun(row['candidate'])}"
               for row in tested if row is not own]
    return [
        f"It was compared with {count(len(tested) - 1, 'other')} on samples held out of "
        f"training{folds}.",
        _listed(measure, errors), _why(own, rows[0]["candidate"], estimator), _OTHERWISE]


def _listed(head, items):
    """A sentence with a list, one item in a line if there are several."""
    gap = "\n    " if len(items) > 1 else " "
    return f"{head}:{gap}{f';{gap}'.join(items)}."


def _noun(candidate):
    """Noun for a candidate, as in `kind_`, with what tells it from others of its kind."""
    noun, notes, trained_by = "", [], _optimizers_in(candidate)
    for k, part in enumerate(candidate.split(", ")):
        word, *settings = part.split()
        if word in OPTIMIZERS:
            notes += settings
        elif part == "linear":
            notes.append("linear leaves")
        elif k > 0:
            notes.append(part)
        else:
            noun = INITIALIZERS[part].noun if part in INITIALIZERS else part
    if trained_by:
        noun = _trained(noun or "tree", trained_by)
    return ", ".join([noun or Pruned.noun, *notes])


def _optimizers_in(candidate):
    """Class names of the optimizers in the name of a candidate."""
    return [OPTIMIZERS[word].__name__ for word in re.findall(r"\w+", candidate)
            if word in OPTIMIZERS]


def _trained(noun, names):
    return f"{noun} trained as a whole by {' and '.join(names)}"


def _notes(row, n_folds):
    """Notes on an error, in parentheses: the log loss, and that there are fewer folds."""
    notes = [_loss_text(row["log_loss"])] if "log_loss" in row else []
    notes += [f"on {count(row['n_folds'], 'fold')}"] if row.get("n_folds", 1) != n_folds else []
    return f" ({', '.join(notes)})" if notes else ""


def _measure(estimator, single=0.0):
    """The name of the errors of candidates, and a function that writes one.

    Losses are related to that of a single leaf, where it is positive.
    """
    if is_classifier(estimator):
        # These are not the errors that `score` counts.
        weighted = "" if estimator.class_weight is None else " with class weights"
        return f"Errors{weighted}", lambda error: f"{100 * error:.1f} %"
    if resolve_loss(estimator).is_squared:
        return "R²", lambda error: f"{round(1 - error / estimator.n_outputs_, 2) + 0.0:.2f}"
    if single > 0.0:
        return ("D², the saved share of the loss of a single leaf",
                lambda error: f"{round(1 - error / single, 2) + 0.0:.2f}")
    return "Losses of the standardised targets", _loss_text


def _loss_text(loss):
    """Three digits, zeros at the end too: losses stand below each other."""
    return f"{loss:#.3g}".rstrip(".") if 1e-4 <= loss < 999.5 else format_number(loss)


def _why(own, first, estimator):
    """The sentence on why a candidate won."""
    if own["candidate"] == first:
        return "It is the first choice, and no other was clearly better."
    if own["candidate"] == "single leaf":
        return "No tree was clearly better."
    lead, of_first = own.get("lead", np.nan), f"the first choice ({_noun(first)})"
    if not isfinite(lead):      # an earlier version has saved none
        return "No other had a smaller error."
    if lead > MIN_LOSS_LEAD:
        return f"It was clearly better than {of_first}: by {lead:.1f} standard errors."
    if is_classifier(estimator):
        return f"Its probabilities were clearly better than those of {of_first}."
    return f"A tree with splits is preferred, and {of_first} was not clearly better."
