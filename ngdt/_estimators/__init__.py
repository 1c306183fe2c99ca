"""The scikit-learn estimators."""

from ngdt._estimators.classifier import ObliqueTreeClassifier
from ngdt._estimators.regressor import ObliqueTreeRegressor

__all__ = ["ObliqueTreeClassifier", "ObliqueTreeRegressor"]
