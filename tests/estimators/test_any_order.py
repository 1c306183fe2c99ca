"""Estimators are used in any order, on hostile data: a documented error, or a right answer.

`NGDT_FUZZ_SECONDS=1800 python tests/estimators/test_any_order.py` looks for new cases as long.
"""

import copy
import dis
import os
import pickle
import re
import sys
import time
import traceback
import warnings
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, event, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.special import softmax

import hostile
import ngdt
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOPathCV,
)
from ngdt._methods.linear_leaves.logistic import LogisticNode
from ngdt._training.control import NO_CONTROL
from ngdt.export import (
    export_c,
    export_graphviz,
    export_html,
    export_json,
    export_rules,
    export_sql,
    export_text,
)
from ngdt.initializers import CO2, OC1, RandomComplete, RandomOblique, SoftGreedy
from ngdt.optimizers import GTO, SGD, SSGD, TAO, Annealed, EndToEnd, LinearLeaves
from ngdt.pruning import (
    prune_cost_complexity,
    prune_dead_branches,
    prune_equal_leaves,
    prune_forest,
    prune_pure_subtrees,
    prune_zero_weight_nodes,
)

FOLDER = Path(mkdtemp())
OPTIMIZERS = st.sampled_from([
    None, None, "auto", TAO(max_iter=2), TAO(C=10.0, penalty="l2", max_iter=2),
    Annealed(steps=20), SSGD(epochs=2), SGD(epochs=2), SSGD(epochs=3, renew="plateau"),
    EndToEnd(epochs=2), GTO(max_iter=2), "regrow", [Annealed(steps=10), TAO(max_iter=1)]])
INITS = st.sampled_from([
    "auto", "auto", "info_gain", "pruned", "model_tree", RandomComplete(max_depth=2),
    CO2(optimizer=SSGD(epochs=2)), OC1(n_restarts=1, n_jumps=1), SoftGreedy(n_attempts=1),
    "greedy_lp", RandomOblique(n_candidates=3, n_nonzero=1)])
COLUMNS = st.lists(
    st.sampled_from(["normal", "normal", "copy", *hostile.COLUMNS]), min_size=1, max_size=4)
DENSE_FORMS = [(dtype, name) for dtype, name in hostile.ALL_FORMS if name in hostile.DENSE]
# Values for gaps are rounded to the type of the numbers.
BECOME_FLOAT64 = ("list", "objects", "non-native")
GAPS = st.sampled_from(["none", "none", "none", *hostile.GAPS])
SEEDS = st.integers(0, 2**16)
WEIGHTS = st.sampled_from([None, None, "some zero", "all but one zero", "tiny", "huge", "mixed"])
CLASSES = st.sampled_from([
    [0, 1, 2], [0.0, 1.0, np.nan], [0, np.inf, 1], ["a", None], [[0], [1, 2]], [0, 1.5], [], {0, 1},
    [[0, 1]], 1, [b"a"], ["0", "1"], np.array(["NaT", "2020-01-01"], dtype="M8[D]")])
QUANTILES = (0.0, 0.1, 0.5, 1.0)
TARGETS = st.sampled_from(["integers", "normal", "constant", "tiny", "huge", "outlier", "mixed"])


def weights(kind, n, random):
    return None if kind is None else {
        "some zero": random.integers(0, 3, n).astype(float), "all but one zero": np.eye(n)[0],
        "tiny": np.full(n, 1e-300), "huge": np.full(n, 1e300),
        "mixed": 10.0 ** random.integers(-200, 200, n)}[kind]


def in_form(X, form):
    dtype, name = form
    with np.errstate(over="ignore", invalid="ignore"):
        X = X.astype(dtype)
    return (hostile.DENSE | hostile.SPARSE)[name](X)


def is_documented(error):
    """Return whether a check raised an error, rather than a computation."""
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    code = last.tb_frame.f_code
    if code.co_filename.endswith(".pyx"):
        return True
    # Not by the line in the file, which may be another one by now if somebody works on it.
    return dis.opname[code.co_code[last.tb_lasti]] == "RAISE_VARARGS" and any(
        f"{os.sep}{package}{os.sep}" in code.co_filename
        for package in ("ngdt", "sklearn", "joblib"))


def assert_ordered(quantiles):
    """A larger quantile is not smaller, and all are numbers."""
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles, axis=1) >= 0.0).all()


def ancestors(tree, leaf):
    """The nodes above a leaf, ascending."""
    found, child = [], -1 - leaf
    while child in tree.children_left or child in tree.children_right:
        (node,) = np.flatnonzero((tree.children_left == child) | (tree.children_right == child))
        found.append(child := node)
    return sorted(found)


class AnyOrder(RuleBasedStateMachine):
    """One estimator, and what it is known to predict."""

    @initialize(
        kind=st.sampled_from([
            ObliqueTreeClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor,
            ObliqueTreeRegressor, ObliqueForestClassifier, ObliqueForestRegressor]),
        max_depth=st.sampled_from([0, 1, 2, 3, 4]), optimizer=OPTIMIZERS, init=INITS,
        leaf=st.sampled_from(["auto", "auto", "linear"]),
        standardize=st.sampled_from(["auto", "global", True, False]),
        params=st.sampled_from([
            {}, {}, {"min_samples_leaf": 3}, {"max_leaf_nodes": 3}, {"ccp_alpha": 0.01},
            {"min_impurity_decrease": 0.01}, {"n_jobs": 2}]),
        loss=st.sampled_from(["absolute_error", "huber", "poisson", None, None, None]))
    def make(self, kind, params, loss, **others):
        if kind in (ObliqueForestClassifier, ObliqueForestRegressor):
            others["n_estimators"] = 2 if others["optimizer"] else 8
        self.is_classifier = kind in (ObliqueForestClassifier, ObliqueTreeClassifier)
        if not self.is_classifier:
            others["loss"] = loss
        self.model = kind(**params, **others, random_state=0)
        self.n_columns = None
        event(kind.__name__)

    def teardown(self):
        (FOLDER / "model.ngdt").unlink(missing_ok=True)

    # --- the law ---------------------------------------------------------------------------------

    def attempt(self, action, *args, **params):
        """Result of a call, or None after a documented error."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return action(*args, **params)
            except (ValueError, TypeError) as error:
                if not is_documented(error):
                    raise AssertionError(f"no documented error: {error!r}") from error
                event(f"{type(error).__name__}")
                return None

    @property
    def is_fitted(self):
        return hasattr(getattr(self, "model", None), "_table")

    @property
    def trees(self):
        return [each.tree_ for each in getattr(self.model, "estimators_", [self.model])]

    def data(self, columns, n, number, gap, form, like_before=True):
        if like_before and self.n_columns:
            columns = (columns * self.n_columns)[:self.n_columns]
        return hostile.table(columns, n, number, gap), form

    def targets(self, kind, n, random):
        y = hostile.COLUMNS[kind](random, n)
        if not self.is_classifier:
            return np.abs(y) if self.model.loss == "poisson" else y
        return np.digitize(y, np.quantile(y, [0.3, 0.7])) if kind != "constant" else y

    # --- training --------------------------------------------------------------------------------

    @rule(how=st.sampled_from(["fit", "fit", "warm", "partial"]), columns=COLUMNS,
          n=st.integers(1, 40), number=SEEDS, gap=GAPS, form=st.sampled_from(hostile.ALL_FORMS),
          wanted=TARGETS, weight=WEIGHTS)
    def train(self, how, columns, n, number, gap, form, wanted, weight):
        X, form = self.data(columns, n, number, gap, form, like_before=how != "fit")
        random = np.random.default_rng(number)
        y, sample_weight = self.targets(wanted, n, random), weights(weight, n, random)
        before = dict(vars(self.model))
        train, params = self.model.fit, {}
        if how == "partial":
            if not hasattr(self.model, "partial_fit"):
                return
            train = self.model.partial_fit
            if self.is_classifier and not self.is_fitted:
                params = {"classes": np.unique(y)}
        self.model.warm_start = before["warm_start"] = how == "warm"
        given = in_form(X, form)
        if self.attempt(train, given, y, sample_weight=sample_weight, **params) is None:
            assert vars(self.model).keys() == before.keys()
            assert all(vars(self.model)[name] is value for name, value in before.items())
            return
        event(f"trained, {how}")
        self.n_columns = X.shape[1]
        for tree in self.trees:
            assert np.isfinite(tree.thresholds).all()
            assert np.isfinite(tree.values).all()
        self.check(X, form)

    @precondition(lambda self: hasattr(getattr(self, "model", None), "partial_fit")
                  and self.is_classifier)
    @rule(classes=CLASSES, number=SEEDS)
    def partial_fit_of_odd_classes(self, classes, number):
        X, _ = self.data(["normal", "integers"], 9, number, "none", None)
        before = dict(vars(self.model))
        y = np.random.default_rng(number).integers(0, 3, len(X))
        if self.attempt(self.model.partial_fit, X, y, classes=classes) is None:
            assert vars(self.model) == before
            return
        self.n_columns = X.shape[1]
        assert set(y) <= set(self.model.classes_.tolist())

    @rule(which=st.sampled_from(["boosting", "path of labels", "path of numbers"]), columns=COLUMNS,
          n=st.integers(1, 40), number=SEEDS, gap=GAPS, form=st.sampled_from(hostile.ALL_FORMS),
          wanted=TARGETS, weight=WEIGHTS)
    def train_another(self, which, columns, n, number, gap, form, wanted, weight):
        """A model of several, beside the one of the other rules."""
        other = AnyOrder()
        other.is_classifier = which == "path of labels"
        tree = ObliqueTreeClassifier if other.is_classifier else ObliqueTreeRegressor
        other.model = tree(2, optimizer=TAO(max_iter=1), random_state=0)
        X, random = hostile.table(columns, n, number, gap), np.random.default_rng(number)
        y, given = other.targets(wanted, n, random), in_form(X, form)
        if which == "boosting":
            model = ObliqueBoostingRegressor(ObliqueForestRegressor(
                4, max_depth=3, init="info_gain", optimizer=None), random_state=0)
        else:
            model = TAOPathCV(other.model, Cs=2, cv=2)
        before = dict(vars(model))
        if self.attempt(
                model.fit, given, y, sample_weight=weights(weight, n, random)) is None:
            assert vars(model) == before
            return
        event(f"trained, {which}")
        predicted = self.attempt(model.predict, given)
        self.attempt(model.score, given, y)
        if which != "boosting":
            assert_array_equal(predicted, model.estimator_.predict(given))
            return
        if predicted is not None:
            assert np.isfinite(predicted).all()
            assert_array_equal(predicted, sum(each.predict(given) for each in model.estimators_))
            assert_ordered(model.predict_quantiles(given, QUANTILES))

    # --- predictions -----------------------------------------------------------------------------

    @precondition(lambda self: self.is_fitted)
    @rule(columns=COLUMNS, n=st.integers(1, 12), number=SEEDS, gap=GAPS,
          form=st.sampled_from(hostile.ALL_FORMS))
    def predict(self, columns, n, number, gap, form):
        self.check(*self.data(columns, n, number, gap, form))

    def check(self, X, form):
        """Predictions are those of leaves that the samples may reach."""
        model, given = self.model, in_form(X, form)
        predicted = self.attempt(model.predict, given)
        if predicted is None:
            return
        encoded = self.attempt(model.encode, given)
        dense = encoded.toarray() if sparse.issparse(encoded) else encoded
        dense = np.asarray(dense, dtype=np.float64)
        leaves = np.reshape(model.apply(given), (len(X), -1))
        for tree, leaf in zip(self.trees, leaves.T, strict=True):
            assert hostile.impossible_leaves(tree, dense, leaf) == []
        self.check_values(given, dense, leaves, predicted)
        if form in DENSE_FORMS and (form[0] is np.float64 or form[1] not in BECOME_FLOAT64):
            assert_array_equal(predicted, model.predict(in_form(X, (form[0], "as it is"))))

    def check_values(self, given, dense, leaves, predicted):
        outputs = [self.output(tree, dense, leaf)
                   for tree, leaf in zip(self.trees, leaves.T, strict=True)]
        if any(output is None for output in outputs):
            return
        mean = np.mean(outputs, axis=0)
        if self.is_classifier:
            probabilities = self.model.predict_proba(given)
            np.testing.assert_allclose(probabilities, mean, rtol=1e-7, atol=1e-9)
            chosen = probabilities[
                np.arange(len(dense)), np.searchsorted(self.model.classes_, predicted)]
            assert (chosen >= probabilities.max(axis=1) - 1e-12).all()      # or equal, rounded
        else:
            np.testing.assert_allclose(
                np.reshape(predicted, mean.shape), mean, rtol=1e-7, atol=1e-300)

    def output(self, tree, X, leaf):
        """Prediction of a tree, by the textbook's formula; None where it overflows."""
        values = tree.values[leaf]
        if tree.slopes is not None:
            with np.errstate(all="ignore"):
                terms = tree.slopes[leaf] * X[:, None, :]
                size = np.abs(terms).sum(axis=2)
                values = values + terms.sum(axis=2)
            if not np.isfinite(size).all() or (size > 1e5 * (1.0 + np.abs(values))).any():
                return None
            if tree.ranges is not None:
                values = np.clip(values, *np.moveaxis(tree.ranges[leaf], 2, 0))
        if self.is_classifier:
            return softmax(values, axis=1)
        return values

    @precondition(lambda self: self.is_fitted)
    @rule(columns=COLUMNS, n=st.integers(1, 12), number=SEEDS, gap=GAPS, wanted=TARGETS,
          form=st.sampled_from(hostile.ALL_FORMS), weight=WEIGHTS)
    def score(self, columns, n, number, gap, form, wanted, weight):
        X, form = self.data(columns, n, number, gap, form)
        random = np.random.default_rng(number)
        found = self.attempt(
            self.model.score, in_form(X, form), self.targets(wanted, n, random),
            sample_weight=weights(weight, n, random))
        assert found is None or not found > 1.0 + 1e-12     # R2 of a single sample is NaN

    @precondition(lambda self: self.is_fitted)
    @rule(columns=COLUMNS, n=st.integers(1, 12), number=SEEDS, gap=GAPS,
          form=st.sampled_from(hostile.ALL_FORMS))
    def decision_path(self, columns, n, number, gap, form):
        X, form = self.data(columns, n, number, gap, form)
        given = in_form(X, form)
        found = self.attempt(self.model.decision_path, given)
        if found is None:
            return
        paths, first = (found, [0]) if hasattr(self.model, "tree_") else found
        leaves = np.reshape(self.model.apply(given), (n, -1))
        for tree, leaf, begin in zip(self.trees, leaves.T, first, strict=False):
            of_tree = paths[:, begin:begin + tree.n_internal].toarray()
            for path, end in zip(of_tree, leaf, strict=True):
                assert np.flatnonzero(path).tolist() == ancestors(tree, end)

    @precondition(lambda self: self.is_fitted and not self.is_classifier)
    @rule(columns=COLUMNS, n=st.integers(1, 12), number=SEEDS, gap=GAPS,
          form=st.sampled_from(hostile.ALL_FORMS))
    def predict_quantiles(self, columns, n, number, gap, form):
        X, form = self.data(columns, n, number, gap, form)
        found = self.attempt(self.model.predict_quantiles, in_form(X, form), QUANTILES)
        if found is not None:
            assert_ordered(found)

    # --- copies, prunings, exports ---------------------------------------------------------------

    @precondition(lambda self: self.is_fitted)
    @rule(number=SEEDS, how=st.sampled_from(["pickle", "copy", "save"]))
    def replace_by_a_copy(self, number, how):
        X = hostile.table(["normal"] * self.n_columns, 5, number)
        before = self.attempt(self.model.predict, X)
        if how == "pickle":
            model = pickle.loads(pickle.dumps(self.model))
        elif how == "copy":
            model = copy.deepcopy(self.model)
        else:
            ngdt.save(self.model, FOLDER / "model.ngdt")
            model = ngdt.load(FOLDER / "model.ngdt")
        after = self.attempt(model.predict, X)
        assert_array_equal(after, before)
        self.model = model

    @precondition(lambda self: self.is_fitted and hasattr(self.model, "tree_"))
    @rule(number=SEEDS, columns=COLUMNS,
          how=st.sampled_from(["zero", "dead", "equal", "pure", "cost"]))
    def prune(self, number, columns, how):
        X, _ = self.data(columns, 9, number, "none", None)
        X = self.attempt(self.model.encode, X)
        if X is None or sparse.issparse(X):
            return
        random, tree = np.random.default_rng(number), self.model.tree_
        loss = "log_loss" if self.is_classifier else "squared_error"
        y = (random.integers(0, tree.n_outputs, len(X)) if self.is_classifier else
             random.normal(size=(len(X), tree.n_outputs)))
        found = self.attempt(*{
            "zero": (prune_zero_weight_nodes, tree), "dead": (prune_dead_branches, tree, X),
            "equal": (prune_equal_leaves, tree, X, y), "pure": (prune_pure_subtrees, tree, X, y),
            "cost": (prune_cost_complexity, tree, X, y, 0.1)}[how],
            **({"loss": loss} if how in ("equal", "pure", "cost") else {}))
        if found is not None:
            assert found.n_leaves <= tree.n_leaves
            self.model.tree_ = found

    @precondition(lambda self: self.is_fitted and hasattr(self.model, "estimators_"))
    @rule(number=SEEDS, columns=COLUMNS, n=st.integers(1, 40), wanted=TARGETS, weight=WEIGHTS,
          tolerance=st.sampled_from([0.0, 0.1, 1.0, np.inf]))
    def prune_forest(self, number, columns, n, wanted, weight, tolerance):
        X, _ = self.data(columns, n, number, "none", None)
        random = np.random.default_rng(number)
        found = self.attempt(
            prune_forest, self.model, X, self.targets(wanted, n, random), tol=tolerance,
            sample_weight=weights(weight, n, random))
        if found is not None:
            n_leaves = sum(tree.n_leaves for tree in self.trees)
            self.model = found
            assert 1 <= sum(tree.n_leaves for tree in self.trees) <= n_leaves

    @precondition(lambda self: self.is_fitted)
    @rule(export=st.sampled_from([
        export_text, export_rules, export_html, export_graphviz, export_json, export_sql,
        export_c]))
    def export(self, export):
        found = self.attempt(export, self.model)
        assert found is None or len(found)

    @precondition(lambda self: self.is_fitted)
    @rule(columns=COLUMNS, number=SEEDS, gap=GAPS, form=st.sampled_from(hostile.ALL_FORMS))
    def explain(self, columns, number, gap, form):
        X, form = self.data(columns, 2, number, gap, form)
        found = self.attempt(self.model.explain, in_form(X, form))
        assert found is None or str(found[0])


# The law is about answers and errors. Hostile data overflow, and short fits do not converge.
@pytest.mark.filterwarnings("ignore")
def test_any_order():
    run_state_machine_as_test(AnyOrder, settings=settings(
        max_examples=8, stateful_step_count=6, deadline=None, derandomize=True,
        # An example trains several models, which takes seconds on a busy machine.
        suppress_health_check=[HealthCheck.too_slow]))


# --- what the machine has found ------------------------------------------------------------------


def test_sparse_samples_for_a_tree_of_dense_ones_with_gaps():
    X = np.array([[0.0, np.nan], [1.0, 2.0], [2.0, 0.0], [3.0, 1.0]])
    model = ObliqueTreeClassifier(2, optimizer=None).fit(X, [0, 0, 1, 1])
    assert_array_equal(model.predict(sparse.csr_matrix(X)), model.predict(X))


def test_gaps_of_float32_get_finite_values():
    X = np.array([[1e300], [2e300], [np.nan]])
    model = ObliqueTreeClassifier(2, optimizer=None).fit(X, [0, 1, 1])
    assert np.isfinite(model.encode(np.array([[np.nan]], dtype=np.float32))).all()


def test_targets_that_overflow_in_the_units_of_the_fit_before():
    X = np.arange(6.0)[:, None]
    model = ObliqueTreeRegressor(1, optimizer=None, warm_start=True).fit(X, 1e-20 * X[:, 0])
    with pytest.raises(ValueError, match=r"y has numbers up to 5e\+300, more than"):
        model.fit(X, 1e300 * X[:, 0])


def test_tiny_counts_of_tiny_weights_are_no_zeros():
    X = np.arange(6.0)[:, None]
    model = ObliqueTreeRegressor(1, optimizer=None, loss="poisson")
    model.fit(X, 1e-200 * X[:, 0], sample_weight=np.full(6, 1e-200))
    assert (model.predict(X) > 0.0).any()


def test_linear_leaves_of_weights_that_round_to_zero():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) // 10
    weight = np.where(np.arange(40) % 4 == 0, 1e200, 1e-200)
    weight[20:] = 1e-200
    model = ObliqueTreeClassifier(2, init="info_gain", optimizer=None, leaf="linear")
    assert np.isfinite(model.fit(X, y, sample_weight=weight).predict_proba(X)).all()


@pytest.mark.parametrize("n_copies", [1, 2])     # equal columns have singular products
def test_linear_leaves_of_samples_that_are_far_away(n_copies):
    Z, y = np.array([[1e200], [0.0], [1.0], [2.0]]), np.array([[0.0], [0.0], [1.0], [1.0]])
    Z = np.repeat(Z, n_copies, axis=1)
    data = SimpleNamespace(
        features=np.arange(n_copies), weight=np.ones(4), y=y, read=lambda _: Z,
        problem=SimpleNamespace(control=NO_CONTROL))
    found = LogisticNode(data, np.arange(4)).fit(
        np.zeros((1, 2)), np.zeros((1, 2, n_copies)), [1.0], is_drawn=True)
    assert all(np.isfinite(each).all() for each in found)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_explanations_of_huge_numbers_are_written():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2)) * 1e-10, random.integers(0, 2, 30)
    model = ObliqueTreeClassifier(2, optimizer=TAO(max_iter=1), random_state=0).fit(X, y)
    for x in ([1e308, -1e308], [1e300, 1e-300]):
        assert re.search(r"\n    (yes|no), .*; otherwise ", str(model.explain([x])[0]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n_columns", [3, 5])       # as many as samples, or more
def test_products_that_overflow_make_a_leaf_constant(n_columns):
    X = np.array([[-1e175], [-1e-204], [1e250]]) * np.ones(n_columns)
    weight = np.array([1e116, 1e-136, 1e167])
    model = ObliqueTreeRegressor(0, optimizer=None, leaf="linear", random_state=0)
    model.fit(X, [0.1, 0.1, 0.1], sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), 0.1)


def test_slopes_that_overflow_say_what_to_do():
    X = np.random.default_rng(0).normal(size=(30, 1))
    model = ObliqueTreeRegressor(0, optimizer=None, leaf="linear")
    with pytest.raises(ValueError, match="slopes of linear leaves overflow, as numbers of y"):
        model.fit(1e-200 * X, 1e150 * X[:, 0])
    model.set_params(leaf="constant").fit(1e-200 * X, 1e150 * X[:, 0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("x", [[1e308, 1e308, -1e308], [1e300, -1e300, 1.0]], ids=str)
def test_explanations_of_sums_that_overflow_are_written(x):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = ObliqueTreeRegressor(
        1, init="info_gain", optimizer=None, leaf=LinearLeaves(penalty=0.1))
    model.fit(X, 1e10 * X.sum(axis=1))
    assert "at the mean" in str(model.explain([x])[0])


def _look_for_new_cases(seconds):
    end, number = time.monotonic() + seconds, int(os.environ.get("NGDT_FUZZ_SEED", 0))
    while time.monotonic() < end:
        number += 1
        try:
            run_state_machine_as_test(seed(number)(AnyOrder), settings=settings(
                max_examples=200, stateful_step_count=10, deadline=None, database=None,
                # As in the test: an example trains several models, here some more.
                suppress_health_check=[HealthCheck.too_slow]))
        except BaseException:
            print(f"=== seed {number}", flush=True)
            traceback.print_exc(limit=-3)
    print(f"{number} times 200 examples", flush=True)


if __name__ == "__main__":
    _look_for_new_cases(float(os.environ["NGDT_FUZZ_SECONDS"]))
    sys.exit()
