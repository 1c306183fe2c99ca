from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ngdt._core.greedy.splitter import Splitter
from ngdt._core.tree import Tree
from ngdt._training.problem import Limits

ROUNDING: float

@disjoint_base
class ObliqueBuilder:
    def __init__(
        self,
        splitter: Splitter,
        samples: NDArray[np.int32],
        n_nonzero: int,
        limits: Limits,
        min_gain: float,
    ) -> None: ...
    def grow(self, features: NDArray[np.int32], weights: NDArray[np.float64]) -> bool: ...
    def stop(self) -> None: ...
    def result(
        self,
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int64],
    ]: ...
    def to_tree(self, problem: Any) -> Tree: ...
