from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ngdt._samples import Samples
from ngdt._tree_storage import StoredTree

SPARSE_SHARE: float
SAMPLES_PER_NODE_TO_DENSIFY: int

class Tree(StoredTree):
    @classmethod
    def from_sklearn(cls, estimator: Any) -> Self: ...
    @classmethod
    def from_json(cls, text: str | bytes, *, number: int | None = None) -> Self: ...
    def apply(self, X: Any) -> NDArray[np.int32]: ...
    def apply_samples(
        self,
        data: Samples,
        samples: NDArray[np.int32] | None = None,
        start: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]: ...
    def leaf_predictions(
        self,
        leaf: NDArray[np.integer],
        data: Samples | None = None,
        samples: NDArray[np.int32] | None = None,
    ) -> NDArray[np.float64]: ...
    def predict(self, X: Any) -> NDArray[np.float64]: ...
    def scores(self, X: Any) -> NDArray[np.float64]: ...
    def decision_path(self, X: Any) -> sparse.csr_matrix: ...
    def ancestors(self) -> sparse.csr_matrix: ...
    def node_depths(self) -> np.ndarray: ...

def check_is_tree(tree: object) -> None: ...
