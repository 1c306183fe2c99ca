from typing_extensions import disjoint_base

from ngdt._core.regression_losses import RegressionLoss

@disjoint_base
class PoissonLoss(RegressionLoss):
    pseudo_count: float
    def __init__(self, pseudo_count: float = ...) -> None: ...
