from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

CRITERIA: dict[str, type]

class Split(NamedTuple):
    direction: int | np.ndarray
    threshold: float
    gain: float

@disjoint_base
class Splitter:
    n_features: int

    def __init__(
        self,
        X: Any,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64],
        n_outputs: int,
        criterion: str,
    ) -> None: ...
    def used_samples(self) -> NDArray[np.int32]: ...
    def split(
        self, samples: NDArray[np.int32], min_samples_leaf: int = 1
    ) -> Split | None: ...
    def best_threshold(
        self, samples: NDArray[np.int32], z: NDArray[np.float64], min_samples_leaf: int = 1
    ) -> tuple[float, float] | None: ...
    def partition(self, samples: NDArray[np.int32], split: Split) -> int: ...
