from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Samples:
    n_samples: int
    n_features: int
    max_stored: int
    mean_stored: float
    is_sparse: bool
    is_float32: bool

    def __init__(self, X: Any) -> None: ...
    def project(
        self, samples: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]: ...

@final
class Reader:
    def __init__(self, data: Samples, sparse_weights: bool) -> None: ...

@final
class Standardizer:
    def __init__(self, data: Samples, scaling: Any) -> None: ...
