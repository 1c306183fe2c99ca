"""Print a digest of trees of all kinds, and of what they predict."""

import joblib
import numpy as np
from scipy import sparse

from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from ngdt.initializers import CO2, OC1, GreedyLP, RandomOblique
from ngdt.optimizers import GTO, SGD, SSGD, TAO, Annealed, EndToEnd

random = np.random.default_rng(0)
X = random.normal(size=(300, 37))
labels = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
targets = X @ random.normal(size=37)
optimizers = [{"optimizer": optimizer} for optimizer in (
    None, SGD(epochs=3), SSGD(epochs=3), Annealed(steps=60), Annealed(steps=60, mixing=0.3),
    EndToEnd(epochs=2), TAO(max_iter=2), TAO(penalty="l2", max_iter=2), "auto")]
initializers = [{"init": init, "optimizer": None} for init in (
    CO2(), OC1(), GreedyLP(), RandomOblique(5, n_nonzero=3))]
few = {"n_estimators": 2}
for kind, y, choices in (
        (ObliqueTreeClassifier, labels, optimizers + initializers),
        (ObliqueTreeClassifier, labels > 0, [{"optimizer": GTO(max_iter=2)}]),
        (ObliqueTreeRegressor, targets, [
            {"optimizer": None}, {"optimizer": SSGD(epochs=3)}, {"optimizer": TAO(max_iter=2)},
            {"optimizer": Annealed(leaf="linear", steps=60)}, {"optimizer": "auto"}]),
        (ObliqueForestClassifier, labels, [{**few, "optimizer": Annealed(steps=30)},
                                           {**few, "n_estimators": 8}]),
        (ObliqueForestRegressor, targets, [{**few, "optimizer": TAO(max_iter=1)}])):
    for parameters in choices:
        for name, data in (("float64", X), ("float32", X.astype(np.float32)),
                           ("csr", sparse.csr_matrix(np.where(X > 1.0, X, 0.0)))):
            if name == "csr" and getattr(parameters.get("optimizer"), "mixing", 0):
                continue    # for dense data
            # Without samples for validation, or a baseline would take the place of trained trees.
            single = {} if "n_estimators" in parameters else {"validation_fraction": None}
            model = kind(max_depth=3, random_state=0, **single, **parameters).fit(data, y)
            trees = [each.tree_ for each in getattr(model, "estimators_", [model])]
            arrays = [np.asarray(array) for tree in trees for array in (
                tree.densify().weights, tree.thresholds, tree.values)]
            print(kind.__name__, parameters, name, joblib.hash([*arrays, model.predict(data)]))
