"""CutLeaves as its definition reads: the thresholds that a leaf may get, and their gains."""

import numpy as np

from reference import inference as naive


def log_likelihood(y, weight):
    """Of classes with the shares that they have, in nats."""
    total = np.array([weight[y == c].sum() for c in np.unique(y)])
    return (total * np.log(total / total.sum())).sum()


def squares(y, weight):
    """Squared deviations from the mean."""
    return weight @ (y - weight @ y / weight.sum()) ** 2


def gain(y, weight, right, is_classifier=True):
    """Increase of the log likelihood by a division of the samples.

    For regression, of normal errors with the variance of all.
    """
    of = log_likelihood if is_classifier else squares
    increase = sum(of(y[side], weight[side]) for side in (right, ~right)) - of(y, weight)
    return increase if is_classifier else -increase / (2.0 * of(y, weight) / weight.sum())


def gains(tree, problem, leaf, min_samples_leaf):
    """Gains of all thresholds of the weighted sums above a leaf."""
    here = tree.apply(problem.X) == leaf
    y, weight = problem.y[here, 0], problem.sample_weight[here]
    found = []
    for node in np.flatnonzero(naive.directions(tree)[leaf]):
        score = problem.X[here] @ tree.weights[node]
        for value in np.unique(score)[:-1]:
            right = score > value
            if min(right.sum(), (~right).sum()) >= min_samples_leaf:
                found.append(gain(y, weight, right, problem.loss.is_classifier))
    return found


def first_division(tree, X):
    """Which rows go right at the first split that divides them; None if there is none."""
    child = 0
    while child >= 0:
        right = X @ tree.weights[child] > tree.thresholds[child]
        if right.any() and not right.all():
            return right
        child = (tree.children_right if right.all() else tree.children_left)[child]
    return None
