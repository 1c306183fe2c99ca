"""The score of regressors, for targets of any size."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from ngdt._core.scaling import power_of_two
from ngdt._encoding.check_targets import check_names_of_targets

# Size of numbers from which sums of squares may overflow, and below the inverse of which vanish.
_LARGE = 1e140


def r2(y, predictions, sample_weight=None):
    """R2 in a unit in which squares neither overflow nor vanish, by which it does not change."""
    targets = np.asarray(y)
    if targets.dtype.kind in "fiu" and targets.shape == predictions.shape:
        largest = np.maximum(
            np.abs(targets).max(axis=0, initial=0.0), np.abs(predictions).max(axis=0, initial=0.0))
        is_far = (largest > _LARGE) | ((largest < 1 / _LARGE) & (largest > 0.0))
        if np.isfinite(largest).all() and is_far.any():
            unit = np.where(is_far, power_of_two(np.where(is_far, largest, 1.0)), 1.0)
            y, predictions = targets / unit, predictions / unit
    return r2_score(y, predictions, sample_weight=sample_weight)


class RegressorScore(RegressorMixin):
    """Mixin of regressors with `_targets`, whose score large targets do not make NaN."""

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Coefficient of determination R² of the predictions, the mean over several targets.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            A data frame of several targets needs the columns of training, in the same order.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
            1 at best, 0 for predictions of the mean.
        """
        check_is_fitted(self)
        check_names_of_targets(self._targets, y)
        return r2(y, self.predict(X), sample_weight)
