"""Trees whose splits are networks. Without PyTorch, this is skipped."""

import pickle
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

import ngdt
from helpers import in_nightly, random_children
from ngdt._core.structure import decision_path, reach_probabilities
from ngdt.deep import CNN, DeepTreeClassifier, DeepTreeRegressor
from ngdt.deep._base import score_tree
from ngdt.optimizers import Annealed, EndToEnd

torch = pytest.importorskip("torch", reason='PyTorch is not installed: pip install "ngdt[deep]"')

# They import PyTorch, so they come after the line that skips.
from ngdt.deep._torch import fit  # noqa: E402
from ngdt.deep._torch.functions import NodeFunctions, route  # noqa: E402
from ngdt.deep._torch.training import CategoricalLeaves, GaussianLeaves, Paths  # noqa: E402

# Of the ten digits, six are enough: a step takes the longer, the more networks there are.
IMAGES = {"input_shape": (1, 8, 8), "max_leaf_nodes": 6, "random_state": 0}
NETWORK = CNN((8,), kernel_size=3, hidden=16)


def annealed(steps, learning_rate=0.005, **parameters):
    return Annealed(
        steps=steps, learning_rate=learning_rate, weight_decay=0.0, q=0, **parameters)


def in_large_batches(steps, learning_rate=0.01):
    """Training in fewer steps, which take hardly longer with more samples."""
    return annealed(steps, learning_rate, batch_size=100)


def quick(estimator=DeepTreeClassifier, **parameters):
    """An estimator that is trained in little time."""
    return estimator(**{
        "max_leaf_nodes": 4, "optimizer": annealed(16), "stump": annealed(16), "random_state": 0,
        **parameters})


@pytest.fixture(scope="module")
def halves(all_digits):
    X, y = (each[all_digits[1] < 6] for each in all_digits)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def greedy(halves):
    model = DeepTreeClassifier(
        NETWORK, stump=in_large_batches(24), optimizer=in_large_batches(48), **IMAGES)
    return model.fit(*halves[:2])


@pytest.fixture(scope="module")
def shared(halves):
    trunk = CNN((8,), kernel_size=3, hidden=32, n_outputs=16)
    model = DeepTreeClassifier(trunk=trunk, optimizer=in_large_batches(60), **IMAGES)
    return model.fit(*halves[:2])


@pytest.fixture(params=["greedy", "shared"])
def fitted(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("seed", range(4))
def test_leaves_are_reached_by_products_along_paths(seed):
    random = np.random.default_rng(seed)
    left, right = random_children(random, 7)
    scores = random.normal(size=(5, 7))
    expected = reach_probabilities(score_tree(left, right, np.zeros((8, 1))), scores, 2.5)
    found = Paths(left, right).log_probability(torch.from_numpy(scores).float(), 2.5)
    np.testing.assert_allclose(found.exp(), expected, rtol=1e-5)


def test_parameters_that_are_not_trained_stay(halves):
    def trunk(shape):
        layer = torch.nn.Linear(64, 3)
        torch.nn.init.ones_(layer.weight)
        return layer.requires_grad_(False)

    optimizer = Annealed(steps=8, learning_rate=0.01, weight_decay=1.0)
    model = quick(trunk=trunk, optimizer=optimizer).fit(*halves[:2])
    assert (model.weights_["weight"] == 1.0).all()


@pytest.mark.parametrize("kind", ["split", "trunk"])
def test_a_batch_of_one_sample_can_be_normalized(kind, halves):
    def network(shape):
        return torch.nn.Sequential(torch.nn.Linear(64, 1), torch.nn.BatchNorm1d(1))

    optimizer = annealed(3, batch_size=20)
    X, y = halves[0][:41], halves[1][:41]
    model = quick(**{kind: network}, optimizer=optimizer, stump=optimizer).fit(X, y)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("leaves", [CategoricalLeaves, GaussianLeaves])
def test_the_m_step_never_lowers_the_likelihood(leaves):
    random = np.random.RandomState(0)
    is_classifier = leaves is CategoricalLeaves
    y = random.randint(3, size=(40, 1)) if is_classifier else random.normal(size=(40, 2))
    n_outputs = 3 if is_classifier else 2
    model = leaves(4, y.astype(float), np.ones(40), n_outputs, 1e-9)
    model.start(torch.arange(4))
    reach = torch.from_numpy(random.dirichlet(np.ones(4), size=40)).float().log()
    samples, likelihoods = torch.arange(40), []
    for _ in range(5):
        joint = reach + model.log_likelihood(samples)
        likelihoods.append(float(logsumexp(joint.numpy(), axis=1).sum()))
        model.mean = model.statistics(samples, torch.softmax(joint, dim=1)) / 40
        model.fit()
    assert (np.diff(likelihoods) > -1e-3).all()
    assert likelihoods[-1] > likelihoods[0] + 0.1


class Counting(torch.nn.Linear):
    """Counts the samples that it is given."""

    n_samples = 0

    def forward(self, inputs):
        self.n_samples += len(inputs)
        return super().forward(inputs)


class Undefined(torch.nn.Linear):
    """Scores that are no numbers."""

    def forward(self, inputs):
        return super().forward(inputs) * float("nan")


def test_a_sample_is_evaluated_by_the_nodes_of_its_path_only():
    random = np.random.default_rng(0)
    left, right = random_children(random, 6)
    nodes = [Counting(3, 1) for _ in range(6)]
    X = random.normal(size=(50, 3)).astype(np.float32)
    leaf = route(nodes, left, right, X)
    tree = score_tree(left, right, np.zeros((7, 1)))
    scores = np.hstack([node(torch.from_numpy(X)).detach().numpy() for node in nodes])
    np.testing.assert_array_equal(leaf, tree.apply(scores))
    visits = decision_path(tree, leaf).sum(axis=0)
    np.testing.assert_array_equal([node.n_samples - len(X) for node in nodes], np.ravel(visits))


def test_training_skips_nodes_that_a_sample_hardly_reaches():
    nodes = [Counting(1, 1), Counting(1, 1)]
    with torch.no_grad():
        nodes[0].weight[:], nodes[0].bias[:] = 1.0, 0.0
    functions = NodeFunctions(nodes, np.array([1, ~0]), np.array([~2, ~1]))
    functions(torch.tensor([[-9.0], [0.0], [9.0]]), 1.0)
    assert [node.n_samples for node in nodes] == [3, 2]


def test_digits_with_one_leaf_per_class(fitted, halves):
    _, _, X, y = halves
    assert fitted.tree_.n_leaves == 6
    assert fitted.score(X, y) > 0.85
    np.testing.assert_array_equal(fitted.predict_proba(X).argmax(axis=1), fitted.predict(X))
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))


def test_the_tree_takes_the_features(fitted, halves):
    X = halves[2]
    features, tree = fitted.as_tree()
    assert features(X).shape == (len(X), tree.n_features)
    np.testing.assert_array_equal(tree.apply(features(X)), fitted.apply(X))


def test_a_saved_model_predicts_the_same(fitted, halves, tmp_path):
    X = halves[2]
    ngdt.save(fitted, tmp_path / "model")
    loaded = ngdt.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    ngdt.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_functions_of_others_are_given_again_after_loading(halves, tmp_path):
    X, y, *_ = halves

    def network(shape, hidden=4):
        return torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, hidden), torch.nn.Tanh(),
            torch.nn.Linear(hidden, 1))

    model = quick(split=network, input_shape=(8, 8)).fit(X, y)
    ngdt.save(model, tmp_path / "model")
    loaded = ngdt.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"set_params\(split="):
        loaded.predict(X)
    np.testing.assert_array_equal(
        loaded.set_params(split=network).predict(X), model.predict(X))
    loaded.set_params(split=lambda shape: network(shape, hidden=5))
    with pytest.raises(ValueError, match="split makes a module other than the fitted one"):
        loaded.predict(X)


@pytest.mark.parametrize("damage", [
    lambda model: model.weights_.pop(),
    lambda model: model.weights_.__setitem__(0, {"bias": "text"}),
    lambda model: setattr(model, "tree_", ngdt.Tree(np.empty((0, 9)), [], [], [], [[0.0] * 6])),
    lambda model: object.__setattr__(model._scaling, "scale", np.zeros(64)),
])
def test_parts_that_do_not_fit_together_are_refused(greedy, damage, tmp_path):
    broken = pickle.loads(pickle.dumps(greedy))
    damage(broken)
    with pytest.raises((ValueError, TypeError), match="must be"):
        ngdt.save(broken, tmp_path / "model")


def test_examples_of_the_user_guide(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[2] / "docs/user_guide/deep.rst").read_text(encoding="utf-8")
    blocks = re.findall(r"^.. code-block:: python\n\n((?:   .*\n|\n)+)", text, re.M)
    assert len(blocks) == 3
    monkeypatch.chdir(tmp_path)
    # Fewer steps are enough for examples to run.
    code = textwrap.dedent("".join(blocks)).replace("steps=400", "steps=30")
    exec(code, {})
    assert "if " in capsys.readouterr().out


def test_same_seed_same_tree(halves):
    X, y = (each[:200] for each in halves[:2])
    first = quick(split=NETWORK, input_shape=(1, 8, 8)).fit(X, y)
    torch.manual_seed(7)
    state = torch.get_rng_state()
    second = clone(first).fit(X, y)
    assert torch.equal(torch.get_rng_state(), state)
    assert first.tree_ == second.tree_
    np.testing.assert_array_equal(first.features(X), second.features(X))


@pytest.mark.parametrize("parameters", [
    {}, {"split": NETWORK}, {"trunk": CNN((8,), kernel_size=3, hidden=16, n_outputs=4)}], ids=str)
def test_the_default_type_of_pytorch_makes_no_difference(parameters, halves):
    X, y = (each[:200] for each in halves[:2])
    model = quick(input_shape=(1, 8, 8), **parameters).fit(X, y)
    torch.set_default_dtype(torch.float64)
    try:
        other = clone(model).fit(X, y)
        assert other.tree_ == model.tree_
        np.testing.assert_array_equal(other.features(X), model.features(X))
        np.testing.assert_array_equal(other.apply(X), model.apply(X))
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("optimizer", [
    in_large_batches(100, learning_rate=0.02),
    EndToEnd(epochs=20, learning_rate=0.02, batch_size=100)])
def test_regression(optimizer, diabetes):
    X, y = diabetes
    model = quick(DeepTreeRegressor, optimizer=optimizer, init="balanced").fit(X, y)
    assert model.score(X, y) > 0.4
    by_leaf = [y[model.apply(X) == leaf].mean() for leaf in range(model.tree_.n_leaves)]
    np.testing.assert_allclose(model.tree_.values[:, 0], by_leaf)


def test_regression_of_two_targets(diabetes):
    X, y = diabetes
    two = quick(DeepTreeRegressor).fit(X, np.column_stack([y, -y])).predict(X)
    assert two.shape == (len(X), 2)
    np.testing.assert_allclose(two[:, 0], -two[:, 1])


@pytest.mark.parametrize("init", ["greedy", "balanced"])
def test_a_far_target_turns_no_splits_and_moves_no_leaf(init, diabetes):
    X, y = diabetes
    model, reached = quick(DeepTreeRegressor, init=init), []
    for far in (1e6, 1e15):      # squares of the second overflow in float32
        targets = np.where(np.arange(len(y)) == 7, far, y)
        with pytest.warns(UserWarning, match="1 of [0-9]+ targets is far from all others"):
            leaf = model.fit(X, targets).apply(X)
        others = (leaf == leaf[7]) & (targets != far)
        np.testing.assert_allclose(model.predict(X)[7], y[others].mean())
        reached.append(leaf)
    np.testing.assert_array_equal(*reached)


def test_a_far_target_has_no_leaf_of_its_own():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), random.normal(size=60)
    X[0], y[0] = 8.0, 1e4
    for seed in range(20):
        leaf = DeepTreeRegressor(
            max_depth=3, init="balanced", optimizer=None, random_state=seed).fit(X, y).apply(X)
        assert (leaf == leaf[0]).sum() > 1


@pytest.mark.parametrize("limits", [{"max_depth": 1}, {"max_leaf_nodes": 3}])
@pytest.mark.parametrize("init", ["greedy", "balanced"])
def test_limits(limits, init, halves):
    X, y, *_ = halves
    tree = quick(init=init, **limits).fit(X, y).tree_
    assert tree.max_depth <= limits.get("max_depth", 9)
    assert 1 < tree.n_leaves <= limits.get("max_leaf_nodes", 4)


def test_numbers_that_float32_does_not_tell_apart():
    seconds = 1.7e9 + np.arange(200.0)[:, None]
    model = DeepTreeClassifier(
        max_leaf_nodes=2, optimizer=Annealed(steps=100, learning_rate=0.05), random_state=0)
    assert model.fit(seconds, np.arange(200) >= 100).score(seconds, np.arange(200) >= 100) > 0.97


@pytest.mark.parametrize("init", ["greedy", "balanced"])
def test_ctrl_c_keeps_the_tree_so_far(init, halves):
    X, y, *_ = halves

    def press(metrics):
        if metrics["epoch"] == 2:
            raise KeyboardInterrupt

    model = quick(init=init, callback=press, optimizer=annealed(100))
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 epochs"):
        model.fit(X, y)
    assert model.n_iter_ == 2
    assert model.tree_.n_leaves > 1


@pytest.mark.parametrize("parameters", [{}, {"split": None, "trunk": lambda _: torch.nn.Tanh()}])
def test_ctrl_c_after_the_training_loses_nothing(parameters, halves, monkeypatch):
    X, y, *_ = halves
    model, presses = quick(**parameters), [KeyboardInterrupt]
    trained, keep_reached = clone(model).fit(X, y), fit.keep_reached

    def press(*args):
        if presses:
            raise presses.pop()
        return keep_reached(*args)

    monkeypatch.setattr(fit, "keep_reached", press)
    with pytest.warns(ConvergenceWarning, match=f"interrupted after {trained.n_iter_} epoch"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), trained.predict_proba(X))


@pytest.mark.parametrize(("parameters", "message"), [
    ({"split": None}, "give either split or trunk"),
    ({"split": NETWORK, "trunk": NETWORK}, "either split or trunk"),
    ({"trunk": NETWORK, "init": "greedy"}, "init='balanced'"),
    ({"input_shape": (3, 5)}, r"input_shape=\(3, 5\) does not hold the 64 features"),
    ({"split": NETWORK}, r"set the parameter input_shape=\(channels, rows, columns\)"),
    ({"split": CNN(), "input_shape": (1, 8, 8)}, "too small for 2 convolutions"),
    ({"split": lambda shape: torch.nn.Linear(64, 2)}, r"shape \(n,\) or \(n, 1\)"),
    ({"split": lambda shape: torch.nn.Linear(8, 1)}, "fails for a batch of shape"),
    ({"optimizer": Annealed(expected_samples=100)}, "expected_samples=100"),
    ({"optimizer": Annealed(slope_penalty=7.0)}, "slope_penalty=7.0"),
    ({"optimizer": Annealed(mixing=0.4)}, "mixing=0.4"),
    ({"optimizer": Annealed(leaf_learning_rate=0.1)}, "leaf_learning_rate=0.1"),
    ({"stump": EndToEnd(cutoff=None)}, "cutoff=None"),
    ({"split": lambda shape: Undefined(64, 1)}, "smaller learning_rate"),
    ({"split": lambda shape: torch.nn.Sequential(torch.nn.Flatten(0), torch.nn.Identity())},
     "split made a module without weights to train"),
])
def test_messages(parameters, message, halves):
    X, y, *_ = halves
    model = quick(**parameters)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert vars(model) == before


def test_the_network_of_the_example_is_one_for_its_images():
    network, = re.findall(r"(CNN\(.*\)), input_shape=\(1, 8, 8\)", DeepTreeClassifier.__doc__)
    assert isinstance(eval(network, {"CNN": CNN})((1, 8, 8)), torch.nn.Module)


def test_a_module_in_place_of_a_function_is_refused(halves):
    X, y, *_ = halves
    with pytest.raises(TypeError, match=r"split must be a function that makes .*, got Linear"):
        quick(split=torch.nn.Linear(64, 1)).fit(X, y)


def test_images_that_are_no_rows_are_refused(greedy, halves):
    X, y, *_ = halves
    images = X.reshape(-1, 8, 8)
    for action in (lambda: quick().fit(images, y), lambda: greedy.predict(images)):
        with pytest.raises(ValueError, match=r"reshape.*input_shape=\(1, 8, 8\)"):
            action()


def test_columns_that_networks_cannot_read_are_named():
    pd = pytest.importorskip("pandas")
    frame, y = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) % 3}), np.arange(20) % 2
    model = quick(optimizer=None).fit(frame, y)
    for bad, message in (
            (np.where(frame["b"] > 1, "yes", "no"), "column 'b' holds categories, but networks"),
            (frame["b"].where(frame["b"] < 2), "NaN or infinity, in column 'b', but networks"),
            (pd.Timestamp("2020-01-01"), "column 'b' of type datetime64")):
        for action in (lambda X: quick().fit(X, y), model.predict):
            with pytest.raises((TypeError, ValueError), match=message):
                action(frame.assign(b=bad))


# Of the regressor those that are not the same for the classifier.
CHECKS = [
    pair for estimator in (DeepTreeClassifier, DeepTreeRegressor)
    for pair in estimator_checks_generator(quick(
        estimator, init="balanced", max_leaf_nodes=6,
        optimizer=in_large_batches(16, learning_rate=0.1)))
    if "sample_weight_equivalence" not in str(pair[1])
    and (estimator is DeepTreeClassifier or "check_regressor" in str(pair[1]))]
if not in_nightly([True]):
    # Those of the same name differ in the type of the samples.
    CHECKS = list({pair[1].func.__name__.replace("_matrix", "_array"): pair
                   for pair in reversed(CHECKS)}.values())


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=lambda value: getattr(
    getattr(value, "func", None), "__name__", type(value).__name__))
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["annealed", "trunk", *in_nightly(["greedy", "finetuned"])])
def test_the_benchmark_counts_what_a_prediction_evaluates(name, tmp_path):
    from benchmarks import networks, runner

    jobs = [job for job in networks.jobs(quick=True) if job["method"] == name]
    row, = runner.run(networks.BENCHMARK, jobs, tmp_path).itertuples()
    # 16 places of 3 kernels of 25 weights, then layers of 12 x 8 and 8 x 1, or 12 x 50 and 50 x 8.
    each, fixed = (8, 2200) if name == "trunk" else (1304, 0)
    assert row.multiplications == pytest.approx(fixed + each * row.evaluations, rel=1e-5)
    assert row.test > 40    # % of ten classes, after a few steps
    assert row.leaves == 10
