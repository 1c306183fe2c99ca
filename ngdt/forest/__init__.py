"""Forests of trees that are each trained as a whole."""

from ngdt.forest._boosting import ObliqueBoostingRegressor
from ngdt.forest._classifier import ObliqueForestClassifier
from ngdt.forest._regressor import ObliqueForestRegressor

__all__ = ["ObliqueBoostingRegressor", "ObliqueForestClassifier", "ObliqueForestRegressor"]
