import numpy as np
from quantile_loss import QuantileLoss

from ngdt import ObliqueTreeRegressor
from ngdt.optimizers import Optimizer, OptimizerResult


class RefitLeaves(Optimizer):
    """Leave the splits as they are and compute the leaf values anew."""

    def _optimize(self, tree, problem):
        return OptimizerResult(problem.refit_leaves(tree))


rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(1000, 2))
y = X[:, 0] + rng.exponential(1 + (X[:, 0] + X[:, 1] > 0), size=1000)

tree = ObliqueTreeRegressor(
    max_depth=3, loss=QuantileLoss(0.9), optimizer=["ssgd", RefitLeaves()], random_state=0
)
tree.fit(X, y)
print("share of samples at or below the prediction:", np.mean(y <= tree.predict(X)))
