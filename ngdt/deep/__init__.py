"""Trees whose splits are networks, or linear functions of the features of a network.

PyTorch is an optional dependency: ``pip install "ngdt[deep]"`` installs it. It is imported by
`fit` and by predictions, not with this module.
"""

from ngdt.deep._classifier import DeepTreeClassifier
from ngdt.deep._cnn import CNN
from ngdt.deep._regressor import DeepTreeRegressor

__all__ = ["CNN", "DeepTreeClassifier", "DeepTreeRegressor"]
