"""The scikit-learn estimators."""

from ngdt.estimators._classifier import ObliqueTreeClassifier
from ngdt.estimators._regressor import ObliqueTreeRegressor

__all__ = ["ObliqueTreeClassifier", "ObliqueTreeRegressor"]
