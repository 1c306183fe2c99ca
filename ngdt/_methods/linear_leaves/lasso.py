"""Features of linear leaves, chosen by the lasso."""

from threading import Lock
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

from ngdt._methods.linear_leaves.models import ScaledSamples, targets_of_slopes

# Largest number of features that leaves use by default: a model costs its cube.
MAX_FEATURES = 500
# Largest number of samples times squared features from which the lasso chooses, where that allows
# more than MAX_FEATURES: its paths take about as long as other candidates. With 800 samples of 1000
# features, 200 of which add up to the target, R2 rose from 0.91 to 0.99.
_MAX_COST = 1e9
_LOCK = Lock()
# Penalties of the lasso, in shares of the one with which all slopes are zero.
_SHARES = np.geomspace(1.0, 0.01, 30)
# Penalty of the ridge regression on the features that have slopes, in samples.
_RIDGE = 1.0
# Number of samples for each feature below which the default tries features that the lasso chooses.
# With 300 samples of 80 features of Friedman's first function, R2 rose from 0.58 to 0.82. With more
# for each, nothing was gained on bodyfat and diabetes.
_SAMPLES_PER_FEATURE = 15


def has_few_samples(problem):
    """Return whether samples are so few that most slopes may be better zero."""
    return len(problem.training_samples) < _SAMPLES_PER_FEATURE * problem.X.shape[1]


def most_correlated(problem, samples, most=MAX_FEATURES):
    """All features, or of more than `most` those with the largest correlation with a target."""
    p = problem.X.shape[1]
    if p <= most:
        return np.arange(p)
    problem, y = problem.winsorized, _target_columns(problem)
    share = np.zeros(len(y))
    share[samples] = problem.sample_weight[samples] / problem.sample_weight[samples].sum()
    residual = share[:, None] * (y - share @ y)
    std = problem.moments.std
    correlation = np.abs(problem.X.T @ residual).max(axis=1) / np.where(std == 0, np.inf, std)
    return np.sort(np.argsort(-correlation)[:most])


def _target_columns(problem):
    """Targets of regression; for classes, a column for each that is 1 for its samples."""
    if problem.loss.is_classifier:
        return (problem.y == np.arange(problem.n_outputs)).astype(np.float64)
    return targets_of_slopes(problem)


def chosen_by_lasso(problem, samples, splits):
    """Some features of samples, by which one linear model for all of them has the least error.

    They are those with slopes in the lasso of a penalty. The slopes themselves are too small:
    ridge regressions on these features are compared, as by the relaxed lasso of Meinshausen (2007).
    With the errors of the lasso, a penalty was chosen that left several times as many features as
    had made the targets.

    Of very many features, the most correlated ones are found anew for each split: by the test
    samples, too, noise would seem to predict them. With 5 of 20 000 features that made the classes
    of 200 samples, some 190 were chosen.

    Parameters
    ----------
    problem : Problem
    samples : ndarray of int
        To choose by, in the end.
    splits : iterable of (ndarray of int, ndarray of int, ndarray)
        Training samples, test samples and their weights, to choose the penalty by.

    Returns
    -------
    ndarray of int
        All features, if there is no split.
    """
    whole = _Centered(problem, samples)
    penalties, errors = _SHARES * whole.largest_penalty(), 0.0
    for training, test, weight in splits:
        part = _Centered(problem, training)
        errors += part.errors(part.used(penalties), test, weight)
    features = whole.data.features
    return features if np.ndim(errors) == 0 else features[
        whole.used(penalties)[np.argmin(errors)]]


class _Centered:
    """Samples whose features and targets have a mean of zero, for models without an intercept."""

    def __init__(self, problem, samples):
        most = max(MAX_FEATURES, int(np.sqrt(_MAX_COST / len(samples))))
        self.data = ScaledSamples(problem, most_correlated(problem, samples, most))
        weight = self.data.weight[samples]
        Z, y = self._read(samples)
        self.z_mean, self.y_mean = (np.average(each, axis=0, weights=weight) for each in (Z, y))
        root, self.weight = np.sqrt(weight)[:, None], weight.sum()
        self.Z, self.y = root * (Z - self.z_mean), root * (y - self.y_mean)
        if len(Z) > Z.shape[1] + y.shape[1]:    # as few rows that have the same products
            rows = np.linalg.qr(np.hstack([self.Z, self.y]), mode="r")
            self.Z, self.y = rows[:, :Z.shape[1]], rows[:, Z.shape[1]:]

    def _read(self, samples):
        """Scaled features and targets near the others."""
        return self.data.read(samples), _target_columns(self.data.problem.winsorized)[samples]

    def largest_penalty(self):
        """The least penalty with which all slopes of the lasso are zero."""
        return np.linalg.norm(self.Z.T @ self.y, axis=1).max(initial=0.0) / self.weight

    def used(self, penalties):
        """Masks of the features with slopes, shape (n_penalties, p)."""
        if not penalties.any():
            return np.zeros((len(penalties), self.Z.shape[1]), bool)
        # The function divides by the number of rows.
        alphas, Z, y = penalties * self.weight / len(self.Z), np.asfortranarray(self.Z), self.y
        y = np.asfortranarray(y if y.shape[1] > 1 else y[:, 0])
        gram = Z.T @ Z if len(Z) > Z.shape[1] else False
        # The filters of warnings are those of all threads, which train the trees of a forest.
        with _LOCK, catch_warnings():
            # Slopes that are nearly right tell which are zero. Of features that nearly depend on
            # each other, the last digits would take five times as long.
            simplefilter("ignore", ConvergenceWarning)
            # Of few samples, its checks would take longer than all else: once for each penalty.
            _, slopes, _ = lasso_path(
                Z, y, alphas=alphas, precompute=gram, Xy=Z.T @ y, max_iter=100, check_input=False)
        return (slopes != 0.0).reshape(-1, *slopes.shape[-2:]).any(axis=0).T

    def errors(self, masks, test, weight):
        """Squared error of the ridge regression on some features each, on test samples."""
        Z, y = self._read(test)
        Z, y, errors = Z - self.z_mean, y - self.y_mean, np.empty(len(masks))
        for k, used in enumerate(masks):
            own = self.Z[:, used]
            slopes = np.linalg.solve(
                own.T @ own + _RIDGE * np.eye(own.shape[1]), own.T @ self.y)
            errors[k] = weight @ ((y - Z[:, used] @ slopes) ** 2).sum(axis=1)
        return errors
