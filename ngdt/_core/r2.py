"""The coefficient of determination, for targets of any size."""

import numpy as np
from sklearn.metrics import r2_score

from ngdt._util.arrays import power_of_two

# Size of numbers from which sums of squares may overflow, and below the inverse of which vanish.
_LARGE = 1e140


def r2(y, predictions, sample_weight):
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
