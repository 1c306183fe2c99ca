import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ngdt._core.loss import Loss

class RegressionLoss(Loss): ...

class SquaredLoss(RegressionLoss): ...

@disjoint_base
class HuberLoss(RegressionLoss):
    limit: float
    def __init__(self, limit: float = ...) -> None: ...

@disjoint_base
class QuantileLoss(RegressionLoss):
    quantile: float
    def __init__(self, quantile: float = ...) -> None: ...

class AbsoluteLoss(QuantileLoss): ...

@disjoint_base
class PoissonLoss(RegressionLoss):
    pseudo_count: float
    def __init__(self, pseudo_count: float = ...) -> None: ...

def leaf_means(
    leaf: NDArray[np.integer],
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64],
    n_leaves: int,
) -> NDArray[np.float64]: ...
