"""Models for the tests of explanations."""

import numpy as np

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor


def model_of(tree, X=None):
    """A fitted estimator with a given tree, whose training samples are X."""
    k = tree.n_outputs
    if X is None:
        X = np.random.default_rng(0).normal(size=(2 * k + 6, tree.n_features)).round(2)
    y = np.arange(len(X)) % k
    model = (ObliqueTreeRegressor if k == 1 else ObliqueTreeClassifier)(0, optimizer=None)
    model.fit(X, y)
    model.tree_ = tree
    return model
