"""Models of this package and of others, and ways to train a single tree.

`MODELS` are estimators for either task, as the benchmarks against other models use them. `METHODS`
train a tree of a fixed depth, each a dict of candidates, among which validation chooses.
"""

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from ngdt.initializers import CO2, RandomComplete
from ngdt.optimizers import SSGD, TAO, Annealed

# Values of ccp_alpha that are compared, at most.
MAX_ALPHAS = 30
# Rounds of boosting at most, and without improvement.
MAX_ROUNDS, PATIENCE = 1000, 10


class PrunedTree(BaseEstimator):
    """scikit-learn's tree with the ccp_alpha of least error in 5-fold cross-validation."""

    def __init__(self, tree):
        self.tree = tree

    def fit(self, X, y):
        # Rounding may make the smallest alphas negative.
        alphas = np.unique(np.maximum(self.tree.cost_complexity_pruning_path(X, y).ccp_alphas, 0))
        # Evenly spaced in the logarithm of the number of prunings left, since the small trees at
        # the end of the path differ most from each other.
        steps = np.geomspace(1, len(alphas), MAX_ALPHAS).round().astype(int)
        folds = StratifiedKFold if is_classifier(self.tree) else KFold
        cv = folds(5, shuffle=True, random_state=self.tree.random_state)
        search = GridSearchCV(self.tree, {"ccp_alpha": np.unique(alphas[-steps])}, cv=cv)
        self.best_ = search.fit(X, y).best_estimator_
        return self

    def predict(self, X):
        return self.best_.predict(X)

    def predict_proba(self, X):
        return self.best_.predict_proba(X)

    @property
    def classes_(self):
        return self.best_.classes_

    def get_n_leaves(self):
        return self.best_.get_n_leaves()


class EarlyStopped(BaseEstimator):
    """LightGBM, which needs the samples that tell it when to stop: a tenth of them."""

    def __init__(self, classify, random_state):
        self.classify, self.random_state = classify, random_state

    def fit(self, X, y):
        import lightgbm

        X, X_stop, y, y_stop = train_test_split(
            X, y, test_size=0.1, random_state=self.random_state,
            stratify=y if self.classify else None)
        model = lightgbm.LGBMClassifier if self.classify else lightgbm.LGBMRegressor
        self.best_ = model(
            n_estimators=MAX_ROUNDS, n_jobs=1, verbose=-1, random_state=self.random_state)
        self.best_.fit(X, y, eval_X=X_stop, eval_y=y_stop,
                       callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)])
        return self

    def predict(self, X):
        return self.best_.predict(X)

    def predict_proba(self, X):
        return self.best_.predict_proba(X)


# Estimators of classes and of numbers.
MODELS = {
    "tree": (ObliqueTreeClassifier, ObliqueTreeRegressor),
    "forest": (ObliqueForestClassifier, ObliqueForestRegressor),
    "boosted forest": (None, ObliqueBoostingRegressor),
    "pruned tree": (DecisionTreeClassifier, DecisionTreeRegressor),
    "random forest": (RandomForestClassifier, RandomForestRegressor),
    "extra trees": (ExtraTreesClassifier, ExtraTreesRegressor),
    "boosting": (HistGradientBoostingClassifier, HistGradientBoostingRegressor),
    "linear": (LogisticRegression, Ridge),
}
# These take a table as it is.
TAKE_TABLES = "tree", "forest", "boosting"


def make(name, X, y, seed, **parameters):
    """An estimator for samples like X, an array or a data frame, and y.

    Others than these of `TAKE_TABLES` get categories as one-hot features, and missing values as the
    mean and an indicator.
    """
    classify = y.dtype.kind == "i"
    if name == "lightgbm":
        return EarlyStopped(classify, seed)
    model = MODELS[name][not classify](random_state=seed, **parameters)
    if name == "pruned tree":
        model = PrunedTree(model)
    if name == "linear":
        model = make_pipeline(
            StandardScaler(), model.set_params(max_iter=1000) if classify else model)
    return make_pipeline(_encoder(X), model) if (
        hasattr(X, "columns") and name not in TAKE_TABLES) else model


def _encoder(X):
    """Numbers of a table, as scikit-learn's models need them."""
    categorical = X.select_dtypes(exclude="number").columns.tolist()
    numeric = X.columns.difference(categorical, sort=False).tolist()
    return ColumnTransformer([
        ("categories", OneHotEncoder(
            handle_unknown="infrequent_if_exist", min_frequency=5, sparse_output=False),
         categorical),
        ("numbers", SimpleImputer(add_indicator=True, keep_empty_features=True), numeric),
    ])


def calibrated(pruned, X, y):
    """A fitted "pruned tree", calibrated by five folds of its training samples."""
    *encoding, last = pruned if hasattr(pruned, "steps") else [pruned]
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    tree = make_pipeline(*map(clone, encoding), clone(last.best_))
    return CalibratedClassifierCV(tree, cv=cv).fit(X, y)


def prepared(name, X):
    """The table; for boosting with categories as it knows them, and no empty column: it fails."""
    if name not in ("boosting", "lightgbm"):
        return X
    X = X.dropna(axis="columns", how="all")
    return X.astype(dict.fromkeys(X.select_dtypes(exclude="number").columns, "category"))


def n_leaves(model):
    """Leaves of a tree, or of all trees of an ensemble; NaN for a linear model."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "get_n_leaves"):
        return last.get_n_leaves()
    if hasattr(last, "estimators_"):
        return sum(map(n_leaves, last.estimators_))
    if hasattr(last, "_predictors"):
        return sum(tree.get_n_leaf_nodes() for trees in last._predictors for tree in trees)
    return np.nan


def chosen(model):
    """The candidate that a default of this package chose, or the trees of each kind of a forest."""
    candidates = getattr(model, "candidates_", None) or {}
    names = candidates.get("candidate", ())
    if "n_trees" in candidates:
        return " + ".join(
            f"{n} {name}" for name, n in zip(names, candidates["n_trees"], strict=True) if n)
    # A single leaf is none of the candidates.
    return next((name for name, best in zip(names, candidates["chosen"], strict=True) if best),
                "leaf") if candidates else ""


TAO_L2 = (0.0003, 0.003, 0.03, 0.1)
TAO_L1 = (0.03, 0.1, 0.3, 1.0, 3.0)
# Learning rates of stable SGD, and its regularisation: two of the paper's, and our rule.
RATES, NUS = (0.1,), ("auto", 4.0, 43.0)


def tree(depth, seed, init, optimizer=None):
    """A tree that is trained on all samples it is given, and has no baseline."""
    return ObliqueTreeClassifier(
        depth, init=init, optimizer=optimizer, validation_fraction=None, random_state=seed)


def greedy(init):
    return lambda depth, seed: {"": tree(depth, seed, init)}


def non_greedy(depth, seed):
    """Stable SGD as in the paper: from CO2, samples assigned to the leaves that they reach."""
    return {
        f"learning_rate={rate} nu={nu}": tree(depth, seed, CO2(), SSGD(
            assignment="navigate", renew="plateau", learning_rate=rate, nu=nu))
        for rate in RATES for nu in NUS}


def ssgd(depth, seed):
    return {"": tree(depth, seed, "info_gain", SSGD())}


def annealed(**parameters):
    return lambda depth, seed: {
        "": tree(depth, seed, "random_complete", Annealed(**parameters))}


def slow(depth, seed):
    """As deep as said, where the name stops at 8 levels, and trained as in a forest of images."""
    return {"": tree(depth, seed, RandomComplete(depth), Annealed(
        steps=4500, gamma=(1.0, 14.0), q=0.2, learning_rate=0.001))}


def tao(penalty, costs):
    return lambda depth, seed: {
        f"C={C}": tree(depth, seed, "info_gain", TAO(C, penalty=penalty)) for C in costs}


METHODS = {
    "axis-aligned": greedy("info_gain"),
    "random": greedy("random_oblique"),
    "oc1": greedy("oc1"),
    "co2": greedy("co2"),
    "pruned": greedy("pruned"),
    "non-greedy": non_greedy,
    "ssgd": ssgd,
    "tao": tao("l2", TAO_L2),
    "tao_l1": tao("l1", TAO_L1),
    "annealed": annealed(steps=4500),
    "annealed-2250": annealed(steps=2250),
    "annealed-6000": annealed(steps=6000),
    "annealed-9000": annealed(steps=9000),
    "annealed-steep": annealed(steps=4500, gamma=(1.0, 14.0), q=0.2),
    "annealed-slow": slow,
}
