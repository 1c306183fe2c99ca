from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Loss:
    name: str
    is_classifier: bool
    is_squared: bool
    has_log_link: bool
    scale_power: int

    def encode(self, y: ArrayLike, n_outputs: int) -> NDArray[np.float64]: ...
    def decode(self, values: NDArray[np.float64]) -> NDArray[Any]: ...
    def values_of(self, y: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def fits(self, other: Loss) -> bool: ...
    def split_targets(
        self, y: NDArray[np.float64], sample_weight: NDArray[np.float64]
    ) -> NDArray[np.float64]: ...
    def errors(
        self, values: NDArray[np.float64], y: NDArray[np.float64]
    ) -> NDArray[np.float64]: ...
    def value(self, values: ArrayLike, y: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def values_gradient(self, values: ArrayLike, y: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def extremes(
        self, values: ArrayLike, y: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def fit_leaves(
        self,
        leaf: NDArray[np.integer],
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64],
        n_leaves: int,
        n_outputs: int,
    ) -> NDArray[np.float64]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@disjoint_base
class LogLoss(Loss):
    pseudo_count: float
    def __init__(self, pseudo_count: float = ...) -> None: ...

def class_weights(
    leaf: NDArray[np.integer],
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64],
    n_leaves: int,
    n_classes: int,
) -> NDArray[np.float64]: ...

@disjoint_base
class BoundedLoss(LogLoss):
    q: float
    def __init__(self, q: float = ..., pseudo_count: float = ...) -> None: ...
