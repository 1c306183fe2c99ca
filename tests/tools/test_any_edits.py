"""Trees are trained further, edited and copied in any order: all that is told of them is true."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier

import ngdt
from helpers import examples
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.export import export_frame, export_rules, export_text
from ngdt.optimizers import TAO, LinearLeaves
from ngdt.pruning import prune_at, refit_leaves, set_leaves

RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(RANDOM.normal(size=(150, 3)).round(1), columns=list("pqr")).assign(
    city=RANDOM.choice(["Rome", "Oslo", "Lima"], 150))
VALUES = TABLE["p"] * (TABLE["q"] > 0) + (TABLE["city"] == "Rome")
CLASSES, TWO_VALUES = np.digitize(VALUES, [0.0, 0.8]), np.column_stack([VALUES, TABLE["r"]])
GREEDY = dict(max_depth=3, init="info_gain", optimizer=TAO(max_iter=1), validation_fraction=None)
CASES = {
    "classes": ObliqueTreeClassifier(**GREEDY),
    "greedy classes": ObliqueTreeClassifier(
        **GREEDY | {"optimizer": None}, class_weight="balanced"),
    "values": ObliqueTreeRegressor(**GREEDY), "two values": ObliqueTreeRegressor(**GREEDY),
    "linear values": ObliqueTreeRegressor(**GREEDY | {"optimizer": LinearLeaves(penalty=1.0)})}
SEEDS = st.integers(0, 2**16)


class AnyEdits(RuleBasedStateMachine):
    """One tree, and the samples that it describes."""

    @initialize(case=st.sampled_from([*CASES]), seed=SEEDS)
    def fit(self, case, seed):
        self.model = clone(CASES[case])
        self.y = CLASSES if is_classifier(self.model) else (
            TWO_VALUES if case == "two values" else VALUES.to_numpy())
        self.train("fit", seed)

    def outputs(self, X):
        model = self.model
        found = model.predict_proba(X) if is_classifier(model) else model.predict(X)
        return found.reshape(len(X), -1)

    def columns(self, frame):
        start = "probability_" if is_classifier(self.model) else "prediction"
        return [name for name in frame if name.startswith(start)]

    @rule(how=st.sampled_from(["fit", "warm start", "partial_fit", "refit_leaves"]), seed=SEEDS)
    def train(self, how, seed):
        random = np.random.default_rng(seed)
        weight = random.choice([0.0, 1.0, 1.0, 3.0], 150)
        weight[:75] += 1.0      # few samples are warned of
        X = TABLE
        if hasattr(self.model, "tree_"):    # gaps come later
            X = X.where(random.random(X.shape) < random.choice([0.9, 1.0], 4))
        self.model.set_params(warm_start=how == "warm start")
        if how == "refit_leaves":
            self.edit(refit_leaves, X, self.y, sample_weight=weight)
        elif how != "partial_fit":
            self.model.fit(X, self.y, weight)
        elif hasattr(self.model, "partial_fit"):
            self.model.partial_fit(X, self.y, sample_weight=weight)
        else:
            return
        self.samples = X[weight > 0.0], self.y[weight > 0.0]
        self.is_linear = self.model.tree_.slopes is not None

    def edit(self, function, *args, **params):
        before = pickle.dumps(self.model)
        edited = function(self.model, *args, **params)
        assert pickle.dumps(self.model) == before
        self.model = edited

    @rule(nodes=st.sets(st.integers(0, 6), max_size=2))
    def prune(self, nodes):
        self.edit(prune_at, [node for node in nodes if node < self.model.tree_.n_internal])

    @rule(seed=SEEDS)
    def set_a_leaf(self, seed):
        random, tree = np.random.default_rng(seed), self.model.tree_
        frame = export_frame(self.model)
        leaf = int(random.integers(tree.n_leaves))
        if tree.slopes is None:
            names = self.columns(frame)
            frame.loc[tree.n_internal + leaf, names] = random.dirichlet(np.ones(len(names)))
            self.edit(set_leaves, frame)

    @rule()
    def save(self):
        ngdt.save(self.model, file := io.BytesIO())
        file.seek(0)
        summary, self.model = self.model.summary(), ngdt.load(file)
        assert self.model.summary() == summary

    @invariant()
    def all_is_true(self):
        model, (X, y) = self.model, self.samples
        tree, frame, leaf = model.tree_, export_frame(model), model.apply(X)
        importances = dict(zip(X, model.feature_importances_, strict=True))
        assert sum(importances.values()) == pytest.approx(1.0) or set(importances.values()) == {0.0}
        counts = np.bincount(leaf, minlength=tree.n_leaves)
        assert_array_equal(model.n_node_samples_, frame["samples"])
        assert_array_equal(frame["samples"][frame["is_leaf"]], counts)
        rules = export_rules(model)
        assert [rule.n_samples for rule in sorted(rules)] == counts.tolist()
        used = [name for name in "pqr" if importances[name] > 0.0]
        assert ("missing" in export_text(model) + str(rules)) >= X[used].isna().any(axis=None)
        assert frame["samples"][0] == len(X)
        if tree.slopes is None:
            told = frame[self.columns(frame)].to_numpy()[tree.n_internal + leaf]
            assert_allclose(told, self.outputs(X), rtol=1e-12)
        if not is_classifier(model) and not self.is_linear:
            ends = model.predict_quantiles(X, [0.0, 1.0]).reshape(len(X), 2, -1)
            for each in np.unique(leaf):
                of_leaf = y.reshape(len(X), -1)[leaf == each]
                assert_allclose(ends[leaf == each][0], [of_leaf.min(axis=0), of_leaf.max(axis=0)],
                                atol=1e-12)
        explained = model.explain(X[:1])[0]
        assert str(explained).split("\n")[0].endswith(f" [{counts[leaf[0]]}]")
        change = explained.smallest_change()
        if change is not None and tree.slopes is None:
            assert tree.apply(change.sample[None])[0] != leaf[0]
        assert not tree.n_internal or f" {tree.n_leaves} leaves, " in model.summary()


@pytest.mark.filterwarnings("ignore:X. values that did not occur in training", "ignore:partial_fit")
def test_any_edits():
    run_state_machine_as_test(AnyEdits, settings=settings(
        examples(0.7), stateful_step_count=5))
