import numpy as np
from numpy.typing import NDArray

from ngdt._greedy.splitter import Splitter

ROUNDING: float

def best_direction(
    splitter: Splitter,
    samples: NDArray[np.int32],
    features: NDArray[np.int32],
    weights: NDArray[np.float64],
    min_samples_leaf: int = 1,
) -> int: ...
