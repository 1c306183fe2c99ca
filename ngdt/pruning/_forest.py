"""Smaller forests that are as good on samples that they were not trained on."""

from itertools import takewhile

from ngdt._util.validation import check_number
from ngdt.pruning._forest_path import pruning_path

# Margin for chance, in standard errors: a normal deviate exceeds it once in twenty times.
N_STANDARD_ERRORS = 1.64


def prune_forest(forest, X, y, *, tolerance=0.0, sample_weight=None):
    """Drop trees, and branches of the others, that the score on held-out samples does not need.

    Dropping trees, and minimal cost-complexity pruning of the others, lower the squared error of
    the forest on these samples plus a cost for each leaf. With an ascending cost of leaves, this
    gives a path from the whole forest to a single leaf. Five-fold cross-validation of the pruning
    scores each forest of the path. The result is the last forest before the loss exceeds the
    tolerance, with a margin for chance.

    Parameters
    ----------
    forest : ObliqueForestClassifier or ObliqueForestRegressor
        Fitted; it is not changed.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        Samples that the forest was not trained on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or regression targets.
    tolerance : float, default=0.0
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
    >>> from sklearn.datasets import load_digits
    >>> from ngdt import ObliqueForestClassifier
    >>> from ngdt.pruning import prune_forest
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = ObliqueForestClassifier(10, init="info_gain", optimizer=None, random_state=0)
    >>> X_held_out, y_held_out = X[500:800], y[500:800]
    >>> score = forest.fit(X[:500], y[:500]).score(X_held_out, y_held_out)
    >>> smaller = prune_forest(forest, X_held_out, y_held_out, tolerance=0.02)
    >>> smaller.score(X_held_out, y_held_out) >= score - 0.02
    True
    >>> smaller.get_nbytes() < 0.5 * forest.get_nbytes()
    True
    >>> list(smaller.pruning_path_)
    ['alpha', 'n_trees', 'n_leaves', 'nbytes', 'score', 'cv_score', 'cv_error']
    """
    if not check_number("tolerance", tolerance) >= 0:
        raise ValueError(f"tolerance must not be negative, got {tolerance}")
    if not hasattr(forest, "_pruning_input"):
        raise TypeError(
            "forest must be an ObliqueForestClassifier or ObliqueForestRegressor, got "
            f"{type(forest).__name__}")
    path = pruning_path(*forest._pruning_input(X, y, sample_weight))
    chosen = last_within(path, tolerance)
    rows = [step.row() for step in path]
    return forest._with_members(
        chosen.members, {name: [row[name] for row in rows] for name in rows[0]})


def last_within(path, tolerance):
    """Last forest of a path before the loss exceeds the tolerance.

    Parameters
    ----------
    path : list of PathStep
    tolerance : float

    Returns
    -------
    PathStep
    """
    least = path[0].score - tolerance
    return list(takewhile(lambda step: min(
        step.score, step.cv_score - N_STANDARD_ERRORS * step.cv_error) >= least, path))[-1]
