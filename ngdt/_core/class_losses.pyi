from typing_extensions import disjoint_base

from ngdt._core.loss import Loss

@disjoint_base
class LogLoss(Loss):
    pseudo_count: float
    def __init__(self, pseudo_count: float = ...) -> None: ...

@disjoint_base
class BoundedLoss(LogLoss):
    q: float
    def __init__(self, q: float = ..., pseudo_count: float = ...) -> None: ...
