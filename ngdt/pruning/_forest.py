"""Cost-complexity pruning of a whole forest, on samples that it was not trained on.

The cost of a forest is the squared error of its mean prediction on these samples, plus alpha times
the number of leaves of all its trees. For ascending alphas, two steps lower it in turn:

- Trees are dropped, one after the other. The squared error of a mean without a tree is known from
  products of errors.
- Each tree is pruned. While the others stay as they are, the error of the forest is a sum over the
  leaves of this tree, so that minimal cost-complexity pruning finds its best subtree.
"""

from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from ngdt._util.validation import check_number

# Costs of a leaf that are tried. The error of an uninformative forest is about 1.
ALPHAS = 2.0 ** np.arange(-24, 1)
# Folds of the samples; each scores forests that were pruned on the other folds.
N_FOLDS = 5
# Margin for chance, in standard errors: a normal deviate exceeds it once in twenty times.
N_STANDARD_ERRORS = 1.64


def prune_forest(forest, X, y, *, tol=0.0, sample_weight=None):
    """Drop trees, and branches of the others, that the score on held-out samples does not need.

    Dropping trees, and minimal cost-complexity pruning of the others, lower the squared error of
    the forest on these samples plus a cost for each leaf. With an ascending cost of leaves, this
    gives a path from the whole forest to a single leaf. Five-fold cross-validation of the pruning
    scores each forest of the path. The result is the last forest before the loss exceeds
    `tol`, with a margin for chance.

    Parameters
    ----------
    forest : ObliqueForestClassifier or ObliqueForestRegressor
        Fitted; it is not changed.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        Samples that the forest was not trained on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or regression targets.
    tol : float, default=0.0
        Largest decrease of the score on further samples, against the whole forest: of the
        accuracy, or for regression of :math:`R^2`. 0.005 is half a point.
    sample_weight : array-like of shape (n_samples,), default=None
        Not negative. None gives all samples weight 1.

    Returns
    -------
    ObliqueForestClassifier or ObliqueForestRegressor
        A fitted forest. `pruning_path_` is a dict of lists with one entry per forest of the path,
        from the whole one to the smallest: ``alpha``, the cost of a leaf; ``n_trees``, ``n_leaves``
        and ``nbytes``, the size of its trees; ``score`` on the given samples, ``cv_score`` by
        folds, and ``cv_error``, the standard error of the difference of ``cv_score`` from the score
        of the whole forest. `n_estimators` is the number of its trees. `candidates_`, and
        `history_` of the trees, stay as they were, and there are no out-of-bag predictions.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Notes
    -----
    The error is the Brier score or, in units of the variance of y, the squared error: unlike
    accuracy, it changes with every tree and leaf. As a quadratic function of the predictions of the
    trees, it compares all trees at once. With the other trees fixed, it is a sum over the leaves of
    a tree, whose best subtree is found as by `prune_cost_complexity`. Trees are dropped by
    differences beyond chance.

    A leaf that replaces a branch predicts the mean of its leaves, weighted by the numbers of their
    training samples. `predict_quantiles` merges their targets by the weights of these samples.
    Where linear leaves are replaced, quantiles ignore the variation of the predictions within each
    leaf.

    *The margin.* Forests of the path are tested from the whole one on, and the first that fails
    ends the search. A forest passes if ``cv_score`` is at least the score of the whole forest, less
    the tolerance, plus 1.64 times ``cv_error``; by chance, a forest whose loss exceeds the
    tolerance passes once in twenty times. Since the order of the tests is fixed, this holds for
    all of them together, if the folds are as good as new samples and differences normally
    distributed. If two forests disagree on 1 % of 400, 1600 and 6400 samples, ``cv_error`` is 0.5,
    0.25 and 0.12 points of accuracy: a small tolerance needs many samples, or little is dropped. A
    tolerance of zero drops branches that make no difference to any sample.

    Give several times as many samples as a tree has leaves: with fewer, chance decides which
    branches are dropped.

    The predictions of all trees for all samples are held in memory, several times.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone. "Classification and regression trees." 1984.

    W. Maurer, L. A. Hothorn, W. Lehmacher. "Multiple comparisons in drug clinical trials and
    preclinical assays: a-priori ordered hypotheses." Biometrie in der chemisch-pharmazeutischen
    Industrie 6, 1995.

    W. James, C. Stein. "Estimation with quadratic loss." Proceedings of the
    Fourth Berkeley Symposium on Mathematical Statistics and Probability 1, 1961.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ngdt import ObliqueForestClassifier
    >>> from ngdt.pruning import prune_forest
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = ObliqueForestClassifier(10, init="info_gain", optimizer=None, random_state=0)
    >>> X_held_out, y_held_out = X[300:], y[300:]
    >>> score = forest.fit(X[:300], y[:300]).score(X_held_out, y_held_out)
    >>> smaller = prune_forest(forest, X_held_out, y_held_out, tol=0.02)
    >>> smaller.score(X_held_out, y_held_out) >= score - 0.02
    True
    >>> smaller.get_nbytes() < 0.5 * forest.get_nbytes()
    True
    >>> list(smaller.pruning_path_)
    ['alpha', 'n_trees', 'n_leaves', 'nbytes', 'score', 'cv_score', 'cv_error']
    """
    if not check_number("tol", tol) >= 0:
        raise ValueError(f"tol must not be negative, got {tol}")
    if not hasattr(forest, "_pruning_input"):
        raise TypeError(
            "forest must be an ObliqueForestClassifier or ObliqueForestRegressor, got "
            f"{type(forest).__name__}")
    path = pruning_path(*forest._pruning_input(X, y, sample_weight))
    chosen = last_within(path, tol)
    return forest._with_members(chosen.members, {
        name: [getattr(step, name) for step in path] for name in PathStep._fields[1:]})


def last_within(path, tol):
    """Last forest of a path before the loss exceeds the tolerance."""
    least = path[0].score - tol
    return list(takewhile(lambda step: min(
        step.score, step.cv_score - N_STANDARD_ERRORS * step.cv_error) >= least, path))[-1]


class PathStep(NamedTuple):
    """A forest of the path: its trees, and its row in `pruning_path_`.

    Attributes
    ----------
    members : list of Member
        Trees of the forest.
    alpha : float
        Cost of a leaf.
    n_trees, n_leaves, nbytes : int
        Size of the forest.
    score : float
        Accuracy, or R2, on the held-out samples.
    cv_score : float
        The same where each sample is predicted by the forest that was pruned on the other folds.
    cv_error : float
        Standard error of the difference between `cv_score` and the score of the whole forest.
    """

    members: list
    alpha: float
    n_trees: int
    n_leaves: int
    nbytes: int
    score: float
    cv_score: float
    cv_error: float


def pruning_path(members, held_out):
    """Smaller and smaller forests, with their scores.

    Parameters
    ----------
    members : list of Member
        The whole forest.
    held_out : HeldOut

    Returns
    -------
    list of PathStep
        The whole forest, then forests that are smaller than the one before.
    """
    whole, steps = mean_prediction(members), []
    for (alpha, found), predictions in zip(
            forests(members, held_out), cv_predictions(members, held_out), strict=True):
        trees = [member.tree for member in found]
        sizes = (len(trees), sum(tree.n_leaves for tree in trees),
                 sum(tree.nbytes for tree in trees))
        if not steps or sizes != steps[-1][2:5]:
            steps.append(PathStep(
                found, alpha, *sizes, float(held_out.score(mean_prediction(found))),
                float(held_out.score(predictions)),
                float(held_out.standard_error(predictions, whole))))
    return steps


def forests(members, held_out):
    """Yield the best forests that are found for ascending alphas.

    Parameters
    ----------
    members, held_out
        As for `pruning_path`.

    Yields
    ------
    alpha : float
        0, for the whole forest, then each of `ALPHAS`.
    members : list of Member
    """
    yield 0.0, members
    for alpha in ALPHAS.tolist():
        members = prune(drop(members, alpha, held_out), alpha, held_out)
        yield alpha, members


def cv_predictions(members, held_out):
    """Predictions of each sample by the forests that are pruned on the other folds.

    Parameters
    ----------
    members, held_out
        As for `pruning_path`.

    Returns
    -------
    ndarray of shape (n_alphas, n_samples, n_outputs)
        For each alpha of `forests`.
    """
    predictions = np.zeros((1 + len(ALPHAS), *held_out.y.shape))
    present = np.random.default_rng(0).permutation(np.flatnonzero(held_out.weight))
    for fold in np.array_split(present, min(N_FOLDS, len(present))):
        weight = held_out.weight.copy()
        weight[fold] = 0.0
        for step, (_, found) in enumerate(forests(members, replace(held_out, weight=weight))):
            predictions[step, fold] = mean_prediction(found)[fold]
    return predictions


def mean_prediction(members):
    """Mean prediction of the trees, summed in their order as the forest does."""
    return sum(member.predictions for member in members) * (1.0 / len(members))


def drop(members, alpha, held_out):
    """Drop trees that cost more than they lower the error, one after the other.

    Parameters
    ----------
    members : list of Member
    alpha : float
    held_out : HeldOut

    Returns
    -------
    list of Member
    """
    errors = held_out.errors(np.array([member.predictions for member in members]))
    size = np.array([member.tree.n_leaves for member in members])
    own, total, kept = (errors**2).sum(axis=2), errors.sum(axis=0), np.arange(len(members))
    while (n_trees := len(kept)) > 1:
        product = np.einsum("tik,ik->ti", errors, total)[kept]
        square = (total**2).sum(axis=1)
        change = (square - 2.0 * product + own[kept]) / (n_trees - 1) ** 2 - square / n_trees**2
        cost = beyond_chance(change) - alpha * size[kept]
        worst = cost.argmin()
        if not cost[worst] < 0:
            break
        total = total - errors[kept[worst]]
        kept = np.delete(kept, worst)
    return [members[place] for place in kept]


def beyond_chance(change):
    """Change of the error without each tree, as far as it is not due to the choice of samples.

    The least of many noisy changes is too small. So all are shrunk to their mean, by the share of
    their variance that the differences between samples explain (James and Stein, 1961).

    Parameters
    ----------
    change : ndarray of shape (n_trees, n_samples)
        Share of each sample in the change.

    Returns
    -------
    ndarray of shape (n_trees,)
    """
    total = change.sum(axis=1)
    by_chance = ((change - change.mean(axis=0)) ** 2).sum(axis=1).mean()
    variance = total.var(ddof=1)
    share = max(0.0, 1.0 - by_chance / variance) if variance > 0 else 0.0
    return total.mean() + share * (total - total.mean())


def prune(members, alpha, held_out):
    """Prune each tree in turn to its best subtree.

    Parameters
    ----------
    members, alpha, held_out
        As for `drop`.

    Returns
    -------
    list of Member
    """
    mean, found = mean_prediction(members), []
    for member in members:
        pruned = member.pruned(alpha, held_out.errors(mean), len(members), held_out)
        mean = mean + (pruned.predictions - member.predictions) / len(members)
        found.append(pruned)
    return found
