"""Scores of predictions, with intervals."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import DegenerateDataWarning, binomtest, bootstrap
from sklearn.metrics import log_loss, roc_auc_score

from ngdt._util.arrays import power_of_two

# Number of samples of the bootstrap, and how many are drawn at a time: memory.
N_RESAMPLES, BATCH = 999, 20
LEVEL = 0.95


@dataclass(frozen=True)
class Score:
    """An accuracy or an R2, with its interval.

    Attributes
    ----------
    name : str
    value, low, high : float
    """

    name: str
    value: float
    low: float
    high: float

    def text(self, unit=" %", sign=""):
        """The number and its interval; an accuracy is in per cent."""
        scale, unit, digits = (100, unit, 1) if self.name == "accuracy" else (1, "", 3)
        value, low, high = (
            f"{scale * each:{sign}.{digits}f}" for each in (self.value, self.low, self.high))
        return f"{value}{unit} ({low} to {high})"

    def __str__(self):
        return self.text()


def losses(y, predictions, classifies):
    """Loss of each prediction: 1 for a wrong class, or the squared error, as of `in_unit`."""
    y, predictions = np.asarray(y), np.asarray(predictions)
    if classifies:
        return (y != predictions).astype(np.float64)
    with np.errstate(over="ignore"):
        return (in_unit(y) - in_unit(predictions, y)) ** 2


def in_unit(values, of=None):
    """Targets, or predictions of some, in a unit in which squares neither overflow nor vanish."""
    values = np.asarray(values, dtype=np.float64)
    return values / power_of_two(np.abs(values if of is None else of).max())


def score(y, lost, classifies):
    """Accuracy or R2, with a 95 % interval.

    It is Wilson's for the accuracy. For R2, it is percentiles of the bootstrap of the samples.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    lost : ndarray of shape (n_samples,)
        As `losses` returns it.
    classifies : bool

    Returns
    -------
    Score
    """
    if classifies:
        n_right = len(lost) - int(lost.sum())
        found = binomtest(n_right, len(lost)).proportion_ci(LEVEL, method="wilson")
        return Score("accuracy", n_right / len(lost), found.low, found.high)

    def r2(lost, y, axis):
        return 1.0 - lost.mean(axis=axis) / y.var(axis=axis)

    return Score("R2", *interval(r2, (lost, in_unit(y))))


def probability_score(y, probabilities):
    """Area under the ROC curve for two classes, the log loss for more.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    probabilities : ndarray of shape (n_samples, n_classes)
        Of the classes of y, sorted.

    Returns
    -------
    dict of str to float
        The score, by its name.
    """
    if probabilities.shape[1] == 2:
        return {"AUC": float(roc_auc_score(y, probabilities[:, 1]))}
    return {"log loss": float(log_loss(y, probabilities))}


def interval(statistic, data):
    """A statistic of samples and its 95 % interval, by the bootstrap.

    Parameters
    ----------
    statistic : callable
        Of the arrays of `data` and `axis`.
    data : tuple of ndarray of shape (n_samples,)

    Returns
    -------
    value, low, high : float
        NaN where there are too few samples.
    """
    if len(data[0]) < 2:
        return np.nan, np.nan, np.nan
    with (np.errstate(divide="ignore", over="ignore", invalid="ignore"),
          warnings.catch_warnings()):
        warnings.simplefilter("ignore", DegenerateDataWarning)      # the interval is NaN
        value = float(statistic(*data, axis=-1))
        found = bootstrap(
            data, statistic, paired=True, vectorized=True, n_resamples=N_RESAMPLES, batch=BATCH,
            confidence_level=LEVEL, method="percentile", random_state=np.random.default_rng(0))
    return value, *map(float, found.confidence_interval)
