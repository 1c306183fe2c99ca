from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ngdt._core.samples import Samples
from ngdt._core.tree import Tree

@disjoint_base
class Ensemble:
    trees: tuple[Tree, ...]
    is_classifier: bool
    n_outputs: int
    n_features: int

    def __init__(self, trees: Sequence[Tree], is_classifier: bool) -> None: ...
    def mean(
        self, data: Samples, begin: int, end: int, out: NDArray[np.float64]
    ) -> None: ...
