"""Words for what a fit returned: the kind of a tree, and a summary of a tree or a forest."""

import html
import re
from collections import Counter
from math import isfinite

import numpy as np
from sklearn.base import is_classifier

from ngdt._estimators.resolve import is_auto, resolve_loss
from ngdt._training.choice import MIN_LOSS_LEAD
from ngdt._util.numbers import count, format_number
from ngdt.initializers import INITIALIZERS, InfoGain, Initializer, ModelTree, Pruned
from ngdt.optimizers import OPTIMIZERS, SSGD, LinearLeaves, Optimizer, Regrow, ShrinkLeaves

# Steps after a training, which do not train a tree as a whole.
_FINISHING = {each.__name__ for each in (LinearLeaves, Regrow, ShrinkLeaves)}


class ShowsSummary:
    """Mixin of estimators with a `summary`, which ends what a notebook shows once they are fitted.

    scikit-learn makes the page for `_repr_html_` and for `_repr_mimebundle_` each by itself.
    """

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
        return f"{page}<p>{html.escape(self.summary())}</p>"


def kind_of(estimator):
    """The kind of the tree of a fitted estimator: see `ObliqueTreeClassifier.kind_`.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor

    Returns
    -------
    str
    """
    tree = estimator.tree_
    is_linear = tree.slopes is not None and bool(tree.slopes.any())
    if not tree.n_internal:
        return "linear model" if is_linear else "single leaf"
    origin = _origin(estimator, tree)
    return f"{origin}, with linear leaves" if is_linear and origin != ModelTree.noun else origin


def _origin(estimator, tree):
    """Origin of a tree with splits."""
    summary = getattr(estimator, "_sample_summary", None)
    if summary is not None and summary.tree is not tree:    # the user has replaced it
        return "given tree"
    if estimator.baseline_kept_:
        return Pruned.noun if is_auto(estimator.init) else _initial(estimator)
    names = _trained_by(estimator)
    if names:
        return f"tree trained as a whole by {' and '.join(names)}"
    chosen = _chosen(estimator)
    if chosen is not None:
        return ModelTree.noun if chosen.startswith(ModelTree.noun) else Pruned.noun
    return _initial(estimator)


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
    return getattr(init, "noun", "given tree")


def _optimizers(estimator):
    given = estimator.optimizer
    return [] if given is None else list(given) if isinstance(given, list | tuple) else [given]


def _trained_by(estimator):
    """Names of the optimizers that have trained a tree, without the steps that finish it."""
    names = list(estimator.history_["optimizer"])
    # Those of a user may record nothing.
    names += [type(each).__name__ for each in _optimizers(estimator)
              if isinstance(each, Optimizer) and not each.metrics]
    chosen = _chosen(estimator)
    if chosen is not None and not names:    # Ctrl-C may leave a tree of the folds
        names = [OPTIMIZERS[word].__name__ for word in re.findall(r"\w+", chosen)
                 if word in OPTIMIZERS]
    return [name for name in dict.fromkeys(names) if name not in _FINISHING]


def _chosen(estimator):
    """Name of the candidate that won by default; None if there was no competition."""
    table = getattr(estimator, "candidates_", None) or {}
    found = [name for name, chosen in zip(
        table.get("candidate", ()), table.get("chosen", ()), strict=False) if chosen]
    return found[0] if found else None


def headline(estimator):
    """The kind of a tree and its size.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor

    Returns
    -------
    str
    """
    tree, kind = estimator.tree_, estimator.kind_
    if not tree.n_internal:
        return kind
    return f"{kind}: {count(tree.n_leaves, 'leaf', 'leaves')}, depth {tree.max_depth}"


def tree_summary(estimator):
    """A paragraph on a fitted tree: see `ObliqueTreeClassifier.summary`.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor

    Returns
    -------
    str
    """
    tree, text = estimator.tree_, headline(estimator)
    n = tree.n_nonzero + (0 if tree.slopes is None else int(np.count_nonzero(tree.slopes)))
    if n:
        text += f"{', ' if tree.n_internal else ': '}{count(n, 'nonzero weight')}"
    chosen = _chosen(estimator)
    sentences = [f"{text[0].upper()}{text[1:]}."]
    if chosen is not None:
        sentences += _competition(_Table(estimator), chosen)
    elif estimator.baseline_kept_:
        sentences.append(_kept(estimator))
    sentences += _one_label(estimator)
    return " ".join([*sentences, *getattr(estimator, "_edits", ())])


def surprises(estimator):
    """What a fit has to warn of: another tree than was asked for, or one with a single label.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor

    Returns
    -------
    list of str
    """
    found = _one_label(estimator)
    if estimator.baseline_kept_ and not is_auto(estimator.optimizer):
        found.append(
            f"{_kept(estimator)} With validation_fraction=None, fit returns the trained tree.")
    return found


def _one_label(estimator):
    """The sentence on a tree of several constant leaves that predicts one label, if it does."""
    tree = estimator.tree_
    if not tree.n_internal or tree.slopes is not None or not is_classifier(estimator) or len(
            estimator.classes_) < 2:
        return []
    first, *others = np.unique(tree.values.argmax(axis=1))
    return [] if others else [
        f"All leaves predict {str(estimator.classes_[first])!r}, with different probabilities. For "
        "labels of rarer classes, see class_weight='balanced', or a threshold of predict_proba."]


def _kept(estimator):
    """The sentence on a baseline that was kept."""
    is_pruned, names = is_auto(estimator.init), _trained_by(estimator)
    by = f" by {' and '.join(names)}" if names else ""
    # A given tree is compared with none: samples that it was fitted to favour it.
    is_given = not is_pruned and _initial(estimator) == "given tree"
    where = "" if is_given else " on held-out samples"
    return (f"The {Pruned.noun if is_pruned else 'initial tree'} was kept: training{by} was not "
            f"clearly better{where}.")


class _Table:
    """The candidates of a fitted estimator whose errors are known, with words for these."""

    def __init__(self, estimator):
        found = estimator.candidates_
        self.names, n = found["candidate"], len(found["candidate"])
        self.errors, self.deviations, self.leads, self.n_folds = (
            dict(zip(self.names, found.get(column, [default] * n), strict=True))
            for column, default in (
                ("error", np.nan), ("standard_error", np.nan), ("lead", np.nan), ("n_folds", 1)))
        self.tested = [name for name in self.names if isfinite(self.errors[name])]
        self.kind, self.is_classifier = estimator.kind_, is_classifier(estimator)
        self.unit = "" if self.is_classifier else _unit(estimator)

    def number(self, error):
        """Write an error."""
        return f"{100 * error:.1f} %" if self.is_classifier else format_number(error)

    def error(self, name, chosen):
        """The error of a candidate, which left the race if it has fewer folds than the winner."""
        n, text = self.n_folds[name], self.number(self.errors[name])
        return text if n == self.n_folds[chosen] else f"{text} (on {count(n, 'fold')})"


def _unit(estimator):
    loss = resolve_loss(estimator, estimator._default_loss)
    return f", where the mean of y has {estimator.n_outputs_}" if loss.is_squared else (
        ", in the loss of standardised targets")


def _competition(table, chosen):
    """The sentences on the candidates of the default."""
    if chosen not in table.tested or len(table.tested) < 2:
        return ["It was not compared with other trees."]
    n = table.n_folds[chosen]
    where = f"the held-out samples of {n} folds" if n > 1 else "held-out samples"
    own = table.number(table.errors[chosen])
    if isfinite(table.deviations[chosen]):
        own += f" (standard error {table.number(table.deviations[chosen])})"
    first, others = ("It misclassified", "") if table.is_classifier else (
        "Its error was", "that of ")
    parts = [f"{first} {own}"]
    is_pruned = table.kind.startswith(Pruned.noun)
    if "pruned" in table.tested and not is_pruned:
        parts.append(f"{others}the {Pruned.noun} {table.error('pruned', chosen)}")
    remaining = [name for name in table.tested if name != chosen and (
        is_pruned or name != "pruned")]
    if remaining:
        best = min(remaining, key=lambda name: (-table.n_folds[name], table.errors[name]))
        parts.append(f"{others}the best other, {best}, {table.error(best, chosen)}")
    *before, last = parts
    return [
        f"It was chosen of {len(table.tested)} candidates, as {_why(table, chosen)} on {where}.",
        f"{', '.join(before)} and {last}{table.unit}."]


def _why(table, chosen):
    """Reason why a candidate won."""
    first = table.names[0]
    if chosen == first:
        return "no other was clearly better"
    if chosen == "single leaf":
        return "no tree was clearly better than it"
    lead = table.leads[chosen]
    if not isfinite(lead):      # an earlier version has saved none
        return "no other erred less"
    what = "had fewer errors" if table.is_classifier else "erred less"
    return f"it {what} than {first} by {lead:.1f} standard errors" if lead > MIN_LOSS_LEAD else (
        f"its probabilities were better than those of {first}" if table.is_classifier
        else f"{first} was not clearly better")


def forest_summary(forest):
    """A paragraph on a fitted forest: see `ObliqueForestClassifier.summary`.

    Parameters
    ----------
    forest : ObliqueForestClassifier or ObliqueForestRegressor

    Returns
    -------
    str
    """
    trees = forest.estimators_
    kinds = ", ".join(
        f"{kind} ({n})" for kind, n in Counter(tree.kind_ for tree in trees).most_common())
    n_leaves = sum(tree.tree_.n_leaves for tree in trees)
    text = (f"Forest of {count(len(trees), 'tree')} with {count(n_leaves, 'leaf', 'leaves')} in "
            f"all: {kinds}.")
    tested = [error for error in forest.candidates_.get("error", ()) if isfinite(error)]
    return text if len(tested) < 2 else (
        f"{text} How many there are of each kind was chosen of {len(tested)} candidates on "
        "held-out samples.")
