"""Cost-complexity pruning of a whole forest, on samples that it was not trained on.

The cost of a forest is the squared error of its mean prediction on these samples, plus alpha times
the number of leaves of all its trees. For ascending alphas, two steps lower it in turn:

- Trees are dropped, one after the other. The squared error of a mean without a tree is known from
  products of errors.
- Each tree is pruned. While the others stay as they are, the error of the forest is a sum over the
  leaves of this tree, so that minimal cost-complexity pruning finds its best subtree.
"""

from dataclasses import dataclass, replace

import numpy as np

# Costs of a leaf that are tried. The error of an uninformative forest is about 1.
ALPHAS = 2.0 ** np.arange(-24, 1)
# Folds of the samples; each scores forests that were pruned on the other folds.
N_FOLDS = 5


@dataclass(frozen=True)
class PathStep:
    """A forest of the path.

    Attributes
    ----------
    alpha : float
        Cost of a leaf.
    members : list of Member
        Trees of the forest.
    score : float
        Accuracy, or R2, on the held-out samples.
    cv_score : float
        The same where each sample is predicted by the forest that was pruned on the other folds.
    cv_error : float
        Standard error of the difference between `cv_score` and the score of the whole forest.
    """

    alpha: float
    members: list
    score: float
    cv_score: float
    cv_error: float

    def row(self):
        """Row of the forest in `pruning_path_`, a dict."""
        n_trees, n_leaves, nbytes = _sizes(self.members)
        return {"alpha": self.alpha, "n_trees": n_trees, "n_leaves": n_leaves, "nbytes": nbytes,
                "score": self.score, "cv_score": self.cv_score, "cv_error": self.cv_error}


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
    _check_errors(members, held_out)
    whole, steps = mean_prediction(members), []
    for (alpha, found), predictions in zip(
            forests(members, held_out), cv_predictions(members, held_out), strict=True):
        if not steps or _sizes(found) != _sizes(steps[-1].members):
            steps.append(PathStep(
                alpha, found, float(held_out.score(mean_prediction(found))),
                float(held_out.score(predictions)),
                float(held_out.standard_error(predictions, whole))))
    return steps


def _check_errors(members, held_out):
    """Refuse samples for which squared errors overflow in units of the spread of y."""
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = all(
            np.isfinite((held_out.errors(member.predictions) ** 2).sum()) for member in members)
    if not is_finite:
        largest = max(np.abs(member.predictions).max() for member in members)
        raise ValueError(
            f"the forest predicts numbers up to {largest:.3g} for X, too far from y, which has "
            f"numbers up to {np.abs(held_out.y).max():.3g}: give samples in the units of its "
            "training samples")


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


def _sizes(members):
    """Numbers of trees, leaves and bytes."""
    trees = [member.tree for member in members]
    return len(trees), sum(tree.n_leaves for tree in trees), sum(tree.nbytes for tree in trees)
