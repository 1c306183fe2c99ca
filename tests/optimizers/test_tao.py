"""TAO: each node gets the split that is best for the rest of the tree."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from helpers import StopAt, dense, examples, in_nightly, make_problem
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.samples import Samples
from ngdt._methods.tao.node_solvers import NewtonSolver, NodeProblem
from ngdt._methods.tao.weights import dense_vector, with_unit_norm
from ngdt._training.control import Control, Deadline
from ngdt._training.problem import Problem
from ngdt._util.parallel import Threads
from ngdt.initializers import InfoGain, RandomComplete
from ngdt.losses import LogLoss
from ngdt.optimizers import SSGD, TAO, Regrow
from ngdt.testing.strategies import problems
from reference.inference import LOSSES

NODES = pytest.mark.parametrize("node", ["oblique", "axis"])


def as_problem(case, weight=None, **changes):
    tree, X, y, loss = case
    n = X.shape[0]
    return Problem(X, loss.encode(y, tree.n_outputs), loss, tree.n_outputs,
                   np.ones(n) if weight is None else weight, **changes)


def own_losses(problem, values, rows, loss=None):
    """Losses of TAO: errors of classes and losses of numbers, unless a loss is named."""
    if problem.loss.is_classifier and loss in (None, "zero_one"):
        return (values.argmax(axis=1) != problem.y[rows, 0]).astype(float)
    of_sample = LOSSES[problem.loss.name]
    return np.array([
        of_sample(*pair) for pair in zip(values, problem.y[rows], strict=True)])


def training_loss(tree, problem, loss=None):
    rows = np.flatnonzero(problem.sample_weight > 0).astype(np.int32)
    values = tree.values[tree.apply_samples(Samples(problem.X), rows)]
    return problem.sample_weight[rows] @ own_losses(problem, values, rows, loss)


@examples(3)
@given(problems(n_internal=st.integers(0, 6), n_samples=st.integers(1, 12)), st.data(),
       st.sampled_from([None, "loss"]))
def test_no_pass_over_axis_aligned_splits_raises_the_training_loss(case, data, loss):
    weight = np.array(data.draw(st.lists(
        st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=case.X.shape[0],
        max_size=case.X.shape[0])))
    weight[0] += weight.sum() == 0
    problem = as_problem(case, weight)
    loss = loss and case.loss.name
    one_feature = np.zeros_like(case.tree.weights)
    for node, weights in enumerate(case.tree.weights):
        one_feature[node, np.abs(weights).argmax()] = weights[np.abs(weights).argmax()]
    run = _run(case.tree.replace(weights=one_feature), problem, TAO(node="axis", loss=loss))
    before = training_loss(run.tree, problem, loss)
    for _ in range(3):
        run._pass()
        after = training_loss(run.tree, problem, loss)
        assert after <= before + 1e-12 * abs(before)
        assert run._metrics()["loss"] * weight.sum() == pytest.approx(after, rel=1e-9, abs=1e-12)
        before = after


# -- one pass, step by step -------------------------------------------------------------------

def naive_axis_pass(tree, problem):
    """A pass over axis-aligned nodes by enumeration: least loss of every node in turn."""
    X = dense(problem.X)
    X = X.astype(float)
    rows = np.flatnonzero(problem.sample_weight > 0)
    weights, thresholds = tree.weights.copy(), tree.thresholds.copy()

    def leaf(x, child):
        while child >= 0:
            go = weights[child] @ x - thresholds[child] > 0
            child = (tree.children_right if go else tree.children_left)[child]
        return ~child

    def reaches(x):
        child, path = 0 if tree.n_internal else ~0, []
        while child >= 0:
            path.append(child)
            go = weights[child] @ x - thresholds[child] > 0
            child = (tree.children_right if go else tree.children_left)[child]
        return path

    lowest = []
    paths = {i: reaches(X[i]) for i in rows}
    depth = tree.node_depths()
    for node in sorted(range(tree.n_internal), key=lambda node: -depth[node]):
        here = [i for i in rows if node in paths[i]]
        if not here:
            continue
        sides = np.array([[own_losses(problem, tree.values[[leaf(X[i], child)]], np.array([i]))[0]
                           for child in (tree.children_left[node], tree.children_right[node])]
                          for i in here]) * problem.sample_weight[here][:, None]
        best = min(sides[:, 0].sum(), sides[:, 1].sum())
        for j in range(X.shape[1]):
            for threshold in np.unique(X[here, j]):
                above = X[here, j] > threshold
                for right in (above, ~above):
                    best = min(best, np.where(right, sides[:, 1], sides[:, 0]).sum())
        lowest.append((node, here, best))
    return lowest


@examples(4)
@given(problems(n_internal=st.integers(1, 4), n_samples=st.integers(1, 10),
                scales=st.just(1.0)))
def test_an_axis_aligned_node_is_exact(case):
    problem = as_problem(case)
    run_tree, _ = _settled(case.tree, problem)
    # The deepest level is fitted to leaves, which no other node of it changes.
    deepest = run_tree.max_depth - 1
    depth = run_tree.node_depths()
    expected = [entry for entry in naive_axis_pass(run_tree, problem) if depth[entry[0]] == deepest]
    fitted = _one_level(run_tree, problem, deepest, TAO(node="axis"))
    for node, here, best in expected:
        here = np.array(here, dtype=np.int32)
        if np.ptp(problem.y[here], axis=0).any():
            values = fitted.values[fitted.apply_samples(
                Samples(problem.X), here, np.full(len(here), node, dtype=np.int32))]
            got = problem.sample_weight[here] @ own_losses(problem, values, here)
            np.testing.assert_allclose(got, best, rtol=1e-9, atol=1e-12)


def _run(tree, problem, optimizer):
    from ngdt._methods.tao.tao import TAORun
    return TAORun(optimizer, tree, problem, Threads(problem.n_jobs))


def _settled(tree, problem):
    run = _run(tree, problem, TAO(node="axis"))
    return run.tree, run


def _one_level(tree, problem, level, optimizer):
    run = _run(tree, problem, optimizer)
    run._fit_nodes(run.levels[level])
    return run.tree


@examples(4)
@given(problems(n_internal=st.integers(1, 5), n_samples=st.integers(1, 10)), st.data())
def test_care_samples_are_those_that_one_side_serves_better(case, data):
    problem = as_problem(case, np.array(data.draw(st.lists(
        st.sampled_from([0.0, 1.0, 2.5]), min_size=case.X.shape[0],
        max_size=case.X.shape[0]))) + 0.25)
    run = _run(case.tree, problem, TAO(0.7, alpha=0.3, node="axis"))
    tree = run.tree
    decision = tree.decision_path(case.X).toarray()
    for nodes in run.levels:
        found = {each.node: each for each in run._problems(nodes)}
        for node in nodes:
            here = np.flatnonzero(decision[:, node]).astype(np.int32)
            left, right = (own_losses(problem, tree.values[tree.apply_samples(
                Samples(case.X), here, np.full(len(here), child, dtype=np.int32))], here)
                for child in (tree.children_left[node], tree.children_right[node]))
            care = left != right
            if not care.any() or not np.ptp(problem.y[here], axis=0).any():
                assert node not in found
                continue
            order = np.argsort(found[node].samples)
            np.testing.assert_array_equal(found[node].samples[order], here[care])
            np.testing.assert_array_equal(
                found[node].target[order], np.where(right < left, 1.0, -1.0)[care])
            np.testing.assert_allclose(
                found[node].cost[order], (problem.sample_weight[here] * np.abs(left - right))[care])
            # The less of the weight comes here, the less the penalty weighs.
            share = problem.sample_weight[here].sum() / problem.sample_weight.sum()
            np.testing.assert_allclose(found[node].C, 0.7 / share**0.3)


@examples(2)
@given(problems(n_internal=st.integers(0, 6), n_samples=st.integers(1, 12)),
       st.sampled_from(["oblique", "axis"]), st.sampled_from([0.01, 1.0, 100.0]),
       st.integers(1, 2))
def test_a_pass_knows_where_the_samples_end(case, node, C, n_jobs):
    # It never sends them down the whole tree, but keeps book of what each level changes.
    run = _run(case.tree, as_problem(case, n_jobs=n_jobs), TAO(C, node=node))
    for _ in range(2):
        for nodes in reversed(run.levels):
            run._fit_nodes(nodes)
            start = np.full(len(run.samples_by_leaf.samples), -1, dtype=np.int32)
            for above in nodes:
                start[run.samples_by_leaf.slice_of(above)] = above
            here = np.flatnonzero(start >= 0)
            np.testing.assert_array_equal(run.reached[here], run.tree.apply_samples(
                run.data, run.samples_by_leaf.samples[here], start[here]))
        leaf = run.tree.apply_samples(run.data, run.training_samples)
        run._refit_leaves(run.reached[np.argsort(run.samples_by_leaf.samples)])
        np.testing.assert_array_equal(run.samples_by_leaf.leaf, leaf[np.searchsorted(
            run.training_samples, run.samples_by_leaf.samples)])


def test_a_leaf_without_samples_keeps_its_values():
    tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[0.1, 0.0], [0.1, 0.0], [0.2, 0.7]])
    X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([[0.0], [1.0], [1.0]])
    run = _run(tree, Problem(X, y, LogLoss(), 2, np.ones(3)), TAO())
    assert run.tree.values.argmax(axis=1).tolist() == [0, 1, 1]
    assert run.tree.values[2].tolist() == [0.2, 0.7]


def test_two_wrong_sides_are_no_reason_to_care():
    # Class 2 is predicted by neither leaf; |label - prediction| would tell the leaves apart.
    tree = Tree([[1.0]], [0.0], [~0], [~1], np.eye(3)[:2])
    y = np.array([0.0, 1.0, 2.0, 2.0])[:, None]
    problem = Problem(np.array([[-1.0], [1.0], [-0.5], [0.5]]), y, LogLoss(), 3, np.ones(4))
    run = _run(tree, problem, TAO())
    run.tree = tree     # as it was before leaves were fitted
    (node,) = run._problems(np.array([0]))
    assert sorted(node.samples) == [0, 1]


@NODES
@pytest.mark.parametrize("side", [0, 1])
def test_samples_that_all_want_one_side_are_sent_there(node, side):
    # The leaf that the samples need is on the side where none of them go.
    X = np.linspace(1.0, 2.0, 8)[:, None] * (-1) ** side
    tree = Tree([[1.0], [1.0]], [0.0, 1e9], [1, ~0], [~2, ~1], [[0.0, 9.0], [9.0, 0.0], [5.0, 0.0]])
    y = (np.arange(8) == 0).astype(float)
    problem = Problem(X, y[:, None], LogLoss(), 2, np.where(y == 1, 1e-9, 1.0))
    trained = TAO(node=node, C=1e3).optimize(tree, problem).tree
    assert problem.errors(trained, np.arange(8, dtype=np.int32))[1:].sum() == 0


# -- what it reaches, and what comes back -------------------------------------------------------

def iris(**changes):
    X, y = load_iris(return_X_y=True)
    return make_problem(X, y, **changes), X, y


@NODES
def test_it_trains_from_random_parameters(node, digits):
    X, y = digits
    start = ObliqueTreeClassifier(
        max_depth=6, init="random_complete", optimizer=None, random_state=0).fit(X, y)
    tree = ObliqueTreeClassifier(
        init=start.tree_, optimizer=TAO(C=0.1, node=node)).fit(X, y)
    assert tree.score(X, y) > start.score(X, y) + 0.2
    history = tree.history_
    assert history["loss"][-1] < 0.7 * (1 - start.score(X, y))
    assert set(history) == {
        "optimizer", "objective", "loss", "n_nonzero", "n_nodes", "validation"}
    assert tree.n_iter_ == len(history["loss"]) <= 14


def test_the_best_tree_is_returned():
    problem, X, y = iris()
    result = TAO(C=0.3, tol=0).optimize(_grown(problem, 4), problem)
    loss = (result.tree.predict(X).argmax(axis=1) != y).mean()
    assert loss == result.history["loss"][int(np.argmin(result.history["objective"]))]


# Three passes without a better objective end the training; the best is not the last.
@pytest.mark.parametrize(("goals", "n_passes", "best"), [
    ([9.0, 5.0, 6.0, 5.5, 5.2, 1.0], 5, 1),
    ([9.0, 5.0, 6.0, 5.5, 4.0, 4.0, 4.0, 4.0], 8, 7)])
def test_when_training_ends_and_what_is_kept(goals, n_passes, best, monkeypatch):
    problem, _, _ = iris()
    run = _run(_grown(problem, 3), problem, TAO())
    trees = []

    def do_pass(_):
        # Another tree in every pass, as far as anybody can tell.
        run.tree = run.tree.replace(thresholds=run.tree.thresholds + 1e-9)

    monkeypatch.setattr(run, "_fit_nodes", do_pass)
    run.levels = run.levels[:1]
    coming = iter(goals)
    monkeypatch.setattr(run, "_metrics", lambda: {"objective": next(coming)})
    monkeypatch.setattr(run.progress, "report", lambda figures, state: trees.append(run.tree))
    run.train()
    assert len(trees) == n_passes
    assert run.best[1] is trees[best]


@pytest.mark.parametrize(("penalty", "size"), [("l1", np.abs), ("l2", lambda w: 0.5 * w**2)])
def test_the_objective_is_what_it_says(penalty, size):
    problem, X, y = iris()
    optimizer = TAO(0.3, penalty=penalty, alpha=0.25, max_iter=1)
    tree = ObliqueTreeClassifier(
        max_depth=3, optimizer=optimizer, standardize=False, validation_fraction=None).fit(X, y)
    passes = tree.history_
    share = np.asarray(tree.decision_path(X).mean(axis=0)).ravel()
    penalty = share**0.25 @ size(tree.tree_.densify().weights).sum(axis=1)
    errors = (tree.predict(X) != y).sum()
    # Pruning takes away what has a penalty and no effect.
    assert passes["objective"][0] >= 0.3 * errors + penalty - 1e-9
    run = _run(tree.tree_, problem.replace(standardize=False), optimizer)
    penalty = share**0.25 @ size(
        with_unit_norm(tree.tree_, np.ones(4)).densify().weights).sum(axis=1)
    assert run._metrics()["objective"] == pytest.approx(0.3 * errors + penalty)
    # It is that of scaled features, whatever the unit of X.
    unit = 2.0 ** np.arange(4)
    scaled, raw = (
        TAO(0.3, penalty=optimizer.penalty, max_iter=1).optimize(
            each.tree_.replace(weights=each.tree_.densify().weights / units),
            problem.replace(X=X * units, standardize=True)).history["objective"]
        for each, units in ((tree, np.ones(4)), (tree, unit)))
    assert scaled == pytest.approx(raw)


@pytest.mark.parametrize("y", [[[0.0], [1.0]], [[1.0], [0.0]]])
def test_a_split_between_neighbouring_numbers_either_way(y):
    low, high = 1.0, np.nextafter(1.0, 2.0)
    problem = Problem(np.array([[low], [high]]), np.array(y), LogLoss(), 2, np.ones(2))
    start = Tree([[1.0]], [0.0], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    run = _run(start, problem, TAO(node="axis"))
    run.tree = start
    run._fit_nodes(np.array([0]))
    assert problem.errors(run.tree, np.arange(2, dtype=np.int32)).sum() == 0
    np.testing.assert_array_equal(
        run.reached, problem.apply(run.tree, run.samples_by_leaf.samples))


def test_a_split_on_one_feature_that_saves_nothing_is_none():
    X, y = np.arange(3.0)[:, None], np.array([[1.0], [0.0], [1.0]])
    start = Tree([[1.0]], [0.5], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    run = _run(start, Problem(X, y, LogLoss(), 2, np.ones(3)), TAO(node="axis"))
    run.tree = start
    run._fit_nodes(np.array([0]))
    assert run.tree.n_nonzero == 0
    assert run.tree.apply(X).tolist() == [1, 1, 1]


def _grown(problem, depth):
    from ngdt.initializers import InfoGain
    return InfoGain().initialize(problem.limited(max_depth=depth))


def test_smaller_C_gives_sparser_trees():
    problem, _, _ = iris()
    start = _grown(problem, 5)
    nonzero = [TAO(C=C, alpha=0).optimize(start, problem).tree.n_nonzero
               for C in (10.0, 0.1, 0.01, 1e-6)]
    assert nonzero == sorted(nonzero, reverse=True)
    assert nonzero[0] > 2 * nonzero[2]
    # So little C that no weight is worth its price.
    assert nonzero[-1] == 0


def dependent_features(form, n=600):
    """Numbers, twice one of them, all indicators of a category, and one of them reversed."""
    rng = np.random.default_rng(0)
    numbers, indicators = rng.normal(size=(n, 4)), np.eye(3)[rng.integers(0, 3, n)]
    X = np.column_stack([numbers, indicators, 1 - indicators[:, 0], 2 * numbers[:, 0]])
    return form(X), np.digitize(numbers[:, 0] + numbers[:, 1] + 2 * indicators[:, 0], [0, 1])


@pytest.mark.parametrize("C", [1.0, 10.0, 1000.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_no_weights_of_rounding_are_left(C, form, monkeypatch):
    X, y = dependent_features(form)
    std = np.asarray(X.todense() if sparse.issparse(X) else X).std(axis=0)

    def fitted():
        return ObliqueTreeClassifier(
            4, optimizer=TAO(C=C, max_iter=1), leaf="constant",
            validation_fraction=None).fit(X, y)

    def shares(tree):
        effects = np.abs(tree.dense_weights()) * std
        return effects / effects.max(axis=1, keepdims=True)

    found = fitted()
    monkeypatch.setattr(NewtonSolver, "_without_rounding", lambda self, weights: weights)
    plain = fitted()
    assert_array_equal(found.apply(X), plain.apply(X))
    assert_array_equal(found.predict(X), plain.predict(X))
    is_rounding = (shares(plain.tree_) > 0) & (shares(plain.tree_) < 1e-10)
    assert_array_equal(shares(found.tree_) > 0, (shares(plain.tree_) > 0) & ~is_rounding)
    if form is np.asarray:
        assert is_rounding.any()
        assert found.history_["n_nonzero"][-1] < plain.history_["n_nonzero"][-1]


def test_small_weights_of_large_numbers_stay():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * [1.0, 1e12]
    y = X @ [1.0, 1e-12] > 0
    for standardize in (True, False):
        tree = ObliqueTreeClassifier(
            1, optimizer=TAO(C=10.0), init=Tree([[1.0, 1e-12]], [0.1], [~0], [~1], np.eye(2)),
            leaf="constant", standardize=standardize, validation_fraction=None).fit(X, y)
        assert np.count_nonzero(tree.tree_.dense_weights([0])) == 2


@pytest.mark.parametrize("node", ["oblique", "axis"])
def test_sparse_weights_train_the_same_tree(node, digits, monkeypatch):
    X, y = digits
    model = ObliqueTreeClassifier(
        5, optimizer=TAO(0.01, node=node, max_iter=3), init="info_gain",
        validation_fraction=None, random_state=0)
    dense = model.fit(X, y).tree_
    monkeypatch.setattr("ngdt._methods.tao.weights._MAX_SMALL", 0)
    assert model.fit(X, y).tree_ == dense
    assert dense.n_nonzero < 0.125 * dense.n_internal * X.shape[1]


def test_the_weight_vector_of_a_node_is_its_row():
    weights = np.random.default_rng(0).integers(0, 2, (4, 9)) * 1.5
    for form in (np.asarray, sparse.csr_array):
        assert_array_equal([dense_vector(form(weights), node) for node in range(4)], weights)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weight_vectors_have_unit_norm_or_are_zero(form):
    tree = Tree(form([[6.0, 4.0], [0.0, 0.0]]), [5.0, 2.0], [1, ~1], [~0, ~2], np.eye(3))
    found = with_unit_norm(tree, np.array([0.5, 1.0])).densify()
    np.testing.assert_allclose(found.weights, [[1.2, 0.8], [0.0, 0.0]])
    np.testing.assert_allclose(found.thresholds, [1.0, 2.0])


def test_nothing_is_left_that_no_sample_reaches():
    X, y = load_digits(return_X_y=True)
    tree = ObliqueTreeClassifier(
        max_depth=7, optimizer=TAO(C=0.05), validation_fraction=None).fit(X, y).tree_
    assert set(tree.apply(X)) == set(range(tree.n_leaves))


def test_a_subtree_with_samples_of_one_class_becomes_a_leaf():
    problem, X, _ = iris()
    tree = InfoGain().initialize(problem.limited(max_depth=1))
    leaf = int(tree.apply(X[:1])[0])        # has the first class alone
    split = Tree([[1.0, 0.0, 0.0, 0.0]], [5.0], [~0], [~1], tree.values[[leaf, leaf]])
    start = tree.replace_leaves({leaf: split})
    assert set(start.apply(X)) == {0, 1, 2}
    assert TAO(10.0, max_iter=2).optimize(start, problem).tree.n_leaves == 2


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 1), (2, 2), (10**7, 3)])
def test_there_are_no_more_threads_than_leaves(n_jobs, expected, monkeypatch):
    used = []

    def threads(n_threads):
        used.append(n_threads)
        return Threads(n_threads)

    monkeypatch.setattr("ngdt._methods.tao.tao.Threads", threads)
    problem, _, _ = iris()
    start = _grown(problem, 2)
    assert start.n_leaves == 3
    TAO().optimize(start, problem.replace(n_jobs=n_jobs))
    assert used == [expected]


# -- solvers ------------------------------------------------------------------------------------

@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_a_node_minimises_what_liblinear_does(form, penalty, C):
    random = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    problem = make_problem(form(X), y)
    samples = np.arange(0, 150, 2, dtype=np.int32)
    target = np.where(random.random(75) < 0.2, -1.0, np.where(y[samples] == 1, 1.0, -1.0))
    node = NodeProblem(0, samples, target, random.random(75) + 0.1, C, *[None] * 3)
    solver = NewtonSolver(TAO(penalty=penalty), problem)

    def objective(weights, threshold):
        margin = target * (X[samples] @ weights - threshold)
        return (C * node.cost @ np.maximum(0.0, 1.0 - margin) ** 2
                + solver.penalties(weights[None])[0])

    found = objective(*solver.fit(node, random.normal(size=4), 0.3))
    scaling, cost = problem.scaling, C * node.cost
    # The intercept is a penalised feature there, so it is made a large one.
    theirs = LinearSVC(C=cost.max(), penalty=penalty, dual=False, intercept_scaling=100.0,
                       max_iter=10_000, random_state=0)
    theirs.fit((X[samples] - scaling.center) / scaling.scale, target,
               sample_weight=cost / cost.max())
    weights = theirs.coef_[0] / scaling.scale
    expected = objective(weights, weights @ scaling.center - theirs.intercept_[0])
    np.testing.assert_allclose(found, expected, rtol=3e-3)


@pytest.mark.parametrize(("C", "is_sparse"), [(1e-3, True), (0.1, True), (100.0, False)])
def test_the_result_is_stored_in_the_smaller_form(C, is_sparse):
    X, y = load_digits(return_X_y=True)
    penalty = "l2" if C == 100.0 else "l1"
    model = ObliqueTreeClassifier(
        max_depth=5, optimizer=TAO(C, penalty=penalty), validation_fraction=None)
    tree = model.fit(X, y).tree_
    assert tree.is_sparse == is_sparse


def test_sample_weight_moves_the_splits():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    y = (X[:, 0] + random.normal(size=400) > 0).astype(int)
    weight = np.where(y == 1, 50.0, 1.0)
    tree = ObliqueTreeClassifier(
        max_depth=1, optimizer="tao", validation_fraction=None).fit(X, y, sample_weight=weight)
    plain = ObliqueTreeClassifier(max_depth=1, optimizer="tao", validation_fraction=None).fit(X, y)
    assert (tree.predict(X) == 1).mean() > (plain.predict(X) == 1).mean() + 0.2
    balanced = ObliqueTreeClassifier(
        max_depth=1, optimizer="tao", class_weight={0: 1.0, 1: 50.0},
        validation_fraction=None).fit(X, y)
    np.testing.assert_array_equal(balanced.predict(X), tree.predict(X))


@NODES
@pytest.mark.parametrize("loss", [None, "squared_error", "huber"])
def test_regression_with_several_targets(node, loss):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    y = np.column_stack([np.sign(X[:, 0] + X[:, 1]), np.sign(X[:, 0] - X[:, 2])])
    start = ObliqueTreeRegressor(max_depth=4, optimizer=None).fit(X, y)
    tree = ObliqueTreeRegressor(
        max_depth=4, optimizer=TAO(C=1.0, node=node, loss=loss), validation_fraction=0).fit(X, y)
    assert tree.score(X, y) >= start.score(X, y)
    if node == "oblique":
        assert tree.score(X, y) > 0.95


def test_log_loss_may_decide_which_side_is_better():
    X, y = load_digits(return_X_y=True)
    start = ObliqueTreeClassifier(max_depth=5, optimizer=None).fit(X, y)
    tree = ObliqueTreeClassifier(
        max_depth=5, optimizer=TAO(loss="log_loss", C=0.3), validation_fraction=None).fit(X, y)
    losses = [-np.log(fitted.predict_proba(X)[np.arange(len(y)), y]).mean()
              for fitted in (start, tree)]
    assert losses[1] < 0.7 * losses[0]
    # What it records is what it reaches, but for pure subtrees, which are better off as a leaf.
    assert losses[1] <= tree.history_["loss"][-1] * (1 + 1e-12) < losses[1] * 1.1


def test_it_starts_a_chain_and_ends_one(digits):
    X, y = digits
    for chain in ([TAO(max_iter=2), SSGD(epochs=2)], [SSGD(epochs=2), "tao", Regrow()]):
        tree = ObliqueTreeClassifier(max_depth=4, optimizer=chain, random_state=0).fit(X, y)
        assert tree.score(X, y) > 0.8


# -- bad input ----------------------------------------------------------------------------------

@pytest.mark.parametrize("loss", ["zero_one", "log_loss", LogLoss()])
def test_a_loss_for_classes_does_not_fit_numbers(loss):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"TAO\(loss=.*\).* loss 'squared_error'"):
        ObliqueTreeRegressor(optimizer=TAO(loss=loss)).fit(X, y)


def test_a_loss_for_numbers_does_not_fit_classes():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"TAO\(loss='squared_error'\).* loss 'log_loss'"):
        ObliqueTreeClassifier(optimizer=TAO(loss="squared_error")).fit(X, y)


def test_a_tree_of_another_width_is_refused_by_both_sides():
    problem, _, _ = iris()
    with pytest.raises(ValueError, match="2 features and 3 outputs, but the data have 4 and 3"):
        TAO().optimize(Tree([[1.0, 1.0]], [0.0], [~0], [~1], np.zeros((2, 3))), problem)
    with pytest.raises(ValueError, match="4 features and 2 outputs, but the data have 4 and 3"):
        TAO().optimize(Tree([[1.0] * 4], [0.0], [~0], [~1], np.zeros((2, 2))), problem)


@NODES
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_the_best_tree(node, n_jobs):
    X, y = load_digits(return_X_y=True)
    interrupt = StopAt(2)
    tree = ObliqueTreeClassifier(
        max_depth=5, optimizer=TAO(node=node, tol=0), validation_fraction=None, callback=interrupt,
        n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match="2 epochs"):
        tree.fit(X, y)
    assert [progress["optimizer"] for progress in interrupt.seen] == ["TAO", "TAO"]
    assert tree.score(X, y) > 0.8


@pytest.mark.filterwarnings("error")
def test_a_node_may_have_hardly_any_of_the_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 1] > 0) ^ (X[:, 2] > 0)
    weight = np.where(X[:, 0] > 0, 1.0, 1e-150)     # 1e-1500 to the power of alpha
    tree = Tree([[1.0, 0, 0], [0, 1.0, 0], [0, 1.0, 0]], np.zeros(3), [1, ~0, ~2], [2, ~1, ~3],
                np.eye(2)[[0, 1, 0, 1]])
    problem = as_problem((tree, X, y.astype(int), LogLoss()), weight)
    trained = TAO(alpha=10, max_iter=3).optimize(tree, problem).tree
    assert np.isfinite(trained.densify().weights).all()


def test_nothing_is_known_of_the_time_of_the_first_node(monkeypatch):
    """Earlier times say nothing of this one: an estimate from them would leave the node out."""
    problem = make_problem(*load_iris(return_X_y=True), max_depth=1)
    tree = RandomComplete().initialize(problem)
    ticks = itertools.count()
    monkeypatch.setattr("ngdt._methods.tao.tao.monotonic", lambda: float(next(ticks)))
    limited = problem.replace(control=Control(Deadline.after(100.0)))
    found = TAO(max_iter=1).optimize(tree, limited).tree
    assert not limited.control.deadline.has_cut
    assert found == TAO(max_iter=1).optimize(tree, problem).tree != tree


@pytest.mark.parametrize("seed", [0, *in_nightly([1, 2])])
def test_the_objective_of_linear_leaves_never_rises(seed):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (200, 3))
    y = np.abs(X[:, 0] - X[:, 1]) + np.where(X[:, 2] > 0.3, X[:, 1], 0.0)
    y += random.normal(scale=0.1, size=len(y))
    initial = ObliqueTreeRegressor(init="model_tree", optimizer=None).fit(X, y)
    n_passes = 0
    for C in (0.1, 10.0):
        model = ObliqueTreeRegressor(
            init=initial, optimizer=TAO(C=C, tol=0.0), validation_fraction=None,
            random_state=0).fit(X, y)
        assert model.tree_.slopes is not None
        objective = model.history_["objective"]
        assert (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()
        n_passes += len(objective)
    assert n_passes > 2     # one pass ends training if it changes nothing
