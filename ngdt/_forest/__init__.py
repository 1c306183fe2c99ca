"""Forests of trees that are each trained as a whole."""

from ngdt._forest.boosting import ObliqueBoostingRegressor
from ngdt._forest.classifier import ObliqueForestClassifier
from ngdt._forest.regressor import ObliqueForestRegressor

__all__ = ["ObliqueBoostingRegressor", "ObliqueForestClassifier", "ObliqueForestRegressor"]
