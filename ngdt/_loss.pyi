from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Loss:
    name: str
    is_classifier: bool

    def encode(self, y: ArrayLike, n_outputs: int) -> NDArray[np.float64]: ...
    def value(self, theta: ArrayLike, y: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def theta_gradient(self, theta: ArrayLike, y: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def extremes(
        self, theta: ArrayLike, y: NDArray[np.float64]
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

@disjoint_base
class BoundedLoss(LogLoss):
    q: float
    def __init__(self, q: float = ..., pseudo_count: float = ...) -> None: ...

@disjoint_base
class SquaredLoss(Loss):
    limit: float

class HuberLoss(SquaredLoss):
    def __init__(self, limit: float = ...) -> None: ...

LOSSES: dict[str, type[Loss]]

def get_loss(loss: str | Loss) -> Loss: ...
