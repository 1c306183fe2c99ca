from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from typing_extensions import disjoint_base

from ngdt._core.samples import Samples

def depths(
    left: NDArray[np.int32], right: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]: ...
@disjoint_base
class FlatTree:
    thresholds: NDArray[np.float64]
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    values: NDArray[np.float64]
    slopes: NDArray[np.float64] | None
    ranges: NDArray[np.float64] | None
    n_internal: int
    n_features: int
    n_outputs: int
    max_depth: int
    is_sparse: bool

    def __init__(
        self,
        dense: NDArray[np.float64] | None,
        csr: tuple[NDArray[Any], ...] | None,
        n_features: int,
        thresholds: NDArray[np.float64],
        children_left: NDArray[np.int32],
        children_right: NDArray[np.int32],
        values: NDArray[np.float64],
        slopes: NDArray[np.float64] | None,
        ranges: NDArray[np.float64] | None,
        node_depths: NDArray[np.int32],
        leaf_depths: NDArray[np.int32],
    ) -> None: ...
    @property
    def weights(self) -> NDArray[np.float64] | sparse.csr_array: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def n_nonzero(self) -> int: ...
    def dense_weights(self, nodes: Any = slice(None)) -> NDArray[np.float64]: ...
    def samples_of(self, X: Any) -> Samples: ...
    def scores_of(self, data: Samples) -> NDArray[np.float64]: ...
    def _nearest_products(
        self,
        data: Samples,
        samples: NDArray[np.int32],
        column: NDArray[np.int32],
        weight: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]: ...
