"""Print a digest of trees of all kinds, and of what they predict."""

import joblib
import numpy as np
from scipy import sparse

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.optimizers import SGD, SSGD, TAO, Annealed, EndToEnd

random = np.random.default_rng(0)
X = random.normal(size=(300, 37))
labels = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
targets = X @ random.normal(size=37)
for kind, y, optimizers in (
        (ObliqueTreeClassifier, labels, [None, SGD(epochs=3), SSGD(epochs=3), Annealed(steps=60),
                                         EndToEnd(epochs=2), TAO(max_passes=2), "auto"]),
        (ObliqueTreeRegressor, targets, [None, SSGD(epochs=3), Annealed(leaf="linear", steps=60)]),
        (ObliqueForestClassifier, labels, [Annealed(steps=30)])):
    for optimizer in optimizers:
        for name, data in (("float64", X), ("float32", X.astype(np.float32)),
                           ("csr", sparse.csr_matrix(np.where(X > 1.0, X, 0.0)))):
            size = {"n_estimators": 2} if kind is ObliqueForestClassifier else {}
            model = kind(max_depth=3, optimizer=optimizer, random_state=0, **size).fit(data, y)
            trees = [each.tree_ for each in getattr(model, "estimators_", [model])]
            arrays = [np.asarray(array) for tree in trees for array in (
                tree.densify().weights, tree.thresholds, tree.values)]
            print(kind.__name__, optimizer, name, joblib.hash([*arrays, model.predict(data)]))
