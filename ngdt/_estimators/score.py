"""The score of regressors, for targets of any size."""

from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ngdt._core.r2 import r2
from ngdt._encoding.check_targets import check_names_of_targets


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
