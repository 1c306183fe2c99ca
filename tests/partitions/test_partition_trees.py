"""Trees that are trained on the partitions of dask collections."""

import pickle
import warnings
from copy import copy
from threading import Lock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import ngdt
from ngdt.optimizers import SGD, SSGD, TAO, Annealed

da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
# They import dask, so they come after the lines that skip.
from dask import delayed  # noqa: E402

import ngdt.dask  # noqa: E402
from ngdt.dask import ObliqueTreeClassifier, ObliqueTreeRegressor  # noqa: E402

# Warnings of the clusters are not about trees.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def digits_in_parts(all_digits):
    X, y = all_digits
    X = X.astype(np.float32)
    return da.from_array(X, chunks=(500, 64)), da.from_array(y, chunks=500)


def classifier(**parameters):
    parameters = {"max_depth": 5, "optimizer": Annealed(steps=120), "random_state": 0} | parameters
    return ObliqueTreeClassifier(**parameters)


@pytest.fixture(scope="module")
def fitted(digits_in_parts):
    return classifier(optimizer=Annealed(steps=80)).fit(*digits_in_parts)


def test_as_accurate_as_in_memory(fitted, all_digits):
    X, y = all_digits
    alone = ngdt.ObliqueTreeClassifier(
        max_depth=5, optimizer=Annealed(steps=80), random_state=0).fit(X, y)
    assert fitted.score(X, y) > alone.score(X, y) - 0.02
    assert not fitted.baseline_kept_
    assert fitted.kind_ == fitted.in_memory().kind_ == "tree trained as a whole by Annealed"
    assert fitted.summary() == fitted.in_memory().summary()
    assert fitted.candidates_["candidate"] == ["annealed", "pruned"]
    assert fitted.candidates_["chosen"] == [True, False]


@pytest.mark.parametrize(("sizes", "competes"), [((300, 5), True), ((6, 5), False)])
def test_partitions_may_be_too_small_to_hold_samples_out(sizes, competes):
    X = np.random.default_rng(0).normal(size=(sum(sizes), 2))
    parts = [da.from_array(each, chunks=(sizes, 2)[:each.ndim]) for each in (X, X[:, 0])]
    model = ObliqueTreeRegressor(2, optimizer=Annealed(steps=20), random_state=0).fit(*parts)
    assert bool(model.candidates_) == competes
    assert competes or model.kind_ == "tree trained as a whole by Annealed"


@pytest.mark.parametrize("last", [1, 4])
def test_ctrl_c_keeps_the_best_tree_so_far(last, digits_in_parts, all_digits):
    def interrupt(metrics):
        if metrics["epoch"] == last:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match=f"interrupted after {last} epoch"):
        model = classifier(callback=interrupt).fit(*digits_in_parts)
    assert model.n_iter_ == last
    assert model.tree_.n_internal
    assert model.score(*all_digits) > 0.15


@pytest.mark.parametrize(("parameters", "first"), [
    ({"optimizer": "auto"}, "pruned"), ({"optimizer": Annealed(steps=40)}, "annealed")], ids=str)
def test_the_pruned_tree_wins_where_columns_matter_one_at_a_time(parameters, first, monkeypatch):
    """It is named as in memory, and its lead is in the table."""
    monkeypatch.setattr("ngdt._methods.soft.annealed.N_STEPS", 40)
    X = np.random.default_rng(0).uniform(size=(3000, 3))
    y = np.floor(5.0 * X[:, 0]) % 2
    model = ObliqueTreeClassifier(4, random_state=0, **parameters).fit(
        da.from_array(X, chunks=(1000, 3)), da.from_array(y, chunks=1000))
    assert model.baseline_kept_
    assert model.kind_ == "pruned greedy tree"
    table = model.candidates_
    assert table["candidate"][0] == first
    lead, errors = dict(zip(table["candidate"], table["lead"], strict=True)), table["error"]
    assert lead[first] == 0.0
    assert lead["pruned"] >= 0.0 >= lead["annealed"]
    assert errors[table["candidate"].index("pruned")] == 0.0 < max(errors)
    assert "On held-out samples, the first one wins" in model.summary()


def test_a_named_initial_tree_is_the_baseline():
    X = np.random.default_rng(0).normal(size=(1200, 2))
    model = ObliqueTreeClassifier(
        3, init="info_gain", optimizer=SSGD(epochs=2), random_state=0).fit(
        *(da.from_array(each, chunks=(400, 2)[:each.ndim]) for each in (X, X[:, 0] > 0.3)))
    assert model.candidates_ == {}


def test_a_single_leaf_that_wins_is_told():
    random = np.random.default_rng(0)
    parts = (da.from_array(each, chunks=(500, 3)[:each.ndim])
             for each in (random.normal(size=(1500, 3)), random.normal(size=1500)))
    with pytest.warns(UserWarning, match="No tree was better than a single leaf") as caught:
        model = ObliqueTreeRegressor(2, optimizer=Annealed(steps=30), random_state=0).fit(*parts)
    assert model.kind_ == "single leaf"
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("kind", "y"), [
    (ObliqueTreeRegressor, 2.5), (ObliqueTreeClassifier, 1)])
def test_targets_that_are_all_the_same_are_told(kind, y, monkeypatch):
    monkeypatch.setattr("ngdt._methods.soft.annealed.N_STEPS", 40)
    X = da.from_array(np.random.default_rng(0).normal(size=(120, 2)), chunks=(40, 2))
    with pytest.warns(UserWarning, match="y is the same in all samples"):
        kind(random_state=0).fit(X, da.full(120, y, chunks=40))


def test_three_rows_with_gross_errors_do_not_ruin_the_tree(all_digits):
    (X, y), scores = all_digits, []
    gross = X.copy()
    gross[[3, 400, 900], ::2] += 1000.0 * X.std()
    for each in (X, gross):
        model = classifier(validation_fraction=None).fit(
            da.from_array(each[:1000], chunks=(500, 64)), da.from_array(y[:1000], chunks=500))
        scores.append(model.score(X[1000:], y[1000:]))
    assert scores[1] >= scores[0] - 0.02


@pytest.mark.parametrize("optimizer", [SSGD(epochs=4), SGD(epochs=4)], ids=str)
def test_sgd_is_as_accurate_as_in_memory(optimizer, digits_in_parts, all_digits):
    X, y = all_digits
    parameters = {"max_depth": 5, "optimizer": optimizer, "validation_fraction": None}
    alone = ngdt.ObliqueTreeClassifier(random_state=0, **parameters).fit(X, y)
    model = classifier(**parameters).fit(*digits_in_parts)
    assert model.score(X, y) > alone.score(X, y) - 0.02
    assert model.n_iter_ == 4
    assert np.diff(model.history_["bound"])[[0, -1]].max() < 0


def test_regression_by_ssgd():
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 2))
    y = np.stack([X[:, 0] > X[:, 1], X[:, 0] < 0], axis=1) + 0.1 * random.normal(size=(900, 2))
    parameters = {"optimizer": SSGD(epochs=15), "validation_fraction": None, "random_state": 0}
    alone = ngdt.ObliqueTreeRegressor(3, leaf="constant", **parameters).fit(X, y)
    model = ObliqueTreeRegressor(3, **parameters).fit(
        *(da.from_array(each, chunks=(300, 2)) for each in (X, y)))
    assert model.score(X, y) > alone.score(X, y) - 0.02


@pytest.mark.parametrize("optimizer", [SSGD(epochs=5), Annealed(steps=100)], ids=str)
def test_few_far_targets_turn_no_splits_and_move_no_leaves(optimizer):
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 2))
    y = 1.0 * (X[:, 0] > X[:, 1]) + 0.1 * random.normal(size=900)
    far = y.copy()
    far[np.flatnonzero(X[:, 0] > X[:, 1] + 1.0)[:3]] += 1000.0
    model = ObliqueTreeRegressor(
        3, optimizer=optimizer, validation_fraction=None, random_state=0)
    expected = "3 of 900 targets are far from all others, .* and were moved nearer. "
    with pytest.warns(UserWarning, match=expected):
        model.fit(da.from_array(X, chunks=(300, 2)), da.from_array(far, chunks=300))
    model = model.in_memory()
    leaf, predicted = model.apply(X), model.predict(X)
    assert np.abs(predicted - y)[X[:, 0] < X[:, 1] - 0.3].mean() < 0.2
    near = np.minimum(far, y.max())     # at the fence
    for each in np.unique(leaf):
        np.testing.assert_allclose(predicted[leaf == each], near[leaf == each].mean(), atol=0.01)


@pytest.mark.parametrize("n_far", [4, 6])
def test_a_leaf_follows_five_far_targets_that_are_most_of_its_targets(n_far):
    X, y = np.arange(210.0)[:, None], np.random.default_rng(0).normal(size=210)
    y[-n_far:] += 1e6
    stump = ngdt.Tree([[1.0]], [199.5], [~0], [~1], np.zeros((2, 1)))
    model = ObliqueTreeRegressor(init=stump, optimizer=None, validation_fraction=None).fit(
        da.from_array(X, chunks=(70, 1)), da.from_array(y, chunks=70))
    near, far = model.in_memory().predict(X[[0, -1]])
    assert near == pytest.approx(y[:200].mean())
    if n_far == 6:
        assert far == pytest.approx(y[200:].mean())
    else:
        assert abs(far) < 3.0


def test_predictions_are_lazy_and_those_in_memory(fitted, digits_in_parts, all_digits):
    X, y = digits_in_parts
    model = fitted.in_memory()
    assert type(model) is ngdt.ObliqueTreeClassifier
    for name in ("predict", "predict_proba", "predict_log_proba", "apply"):
        lazy = getattr(fitted, name)(X)
        assert isinstance(lazy, da.Array)
        expected = getattr(model, name)(X.compute())
        assert lazy.shape == expected.shape
        assert lazy.dtype == expected.dtype
        assert_array_equal(lazy.compute(), expected)
        assert_array_equal(getattr(fitted, name)(X.compute()), expected)
    assert fitted.score(X, y) == model.score(X.compute(), y.compute())


def test_callbacks_are_not_sent_with_predictions(fitted, digits_in_parts):
    watched = copy(fitted).set_params(callback=Lock().acquire)
    watched._skl_callbacks = [Lock()]
    lazy = watched.predict(digits_in_parts[0])
    assert_array_equal(pickle.loads(pickle.dumps(lazy)), fitted.predict(digits_in_parts[0]))
    assert watched._skl_callbacks


def test_fitted_attributes_are_those_of_all_samples(fitted, all_digits):
    tree = fitted.tree_
    count = np.bincount(tree.apply(all_digits[0].astype(np.float32)), minlength=tree.n_leaves)
    assert_array_equal(fitted.n_node_samples_[tree.n_internal:], count)
    assert "shares of weights" not in ngdt.export_text(fitted)
    assert_array_equal(fitted.classes_, np.arange(10))
    assert fitted.n_features_in_ == 64
    assert len(fitted.history_["loss"]) == fitted.n_iter_ > 5
    assert np.isfinite(fitted.history_["validation"][-1])
    alone = ngdt.ObliqueTreeClassifier(init=tree, optimizer=None).fit(
        all_digits[0].astype(np.float32), all_digits[1])
    assert_allclose(fitted.feature_importances_, alone.feature_importances_, rtol=1e-5)


def test_a_saved_model_is_one_of_ngdt(fitted, all_digits, tmp_path):
    ngdt.save(fitted, tmp_path / "model.ngdt")
    loaded = ngdt.load(tmp_path / "model.ngdt")
    assert type(loaded) is ngdt.ObliqueTreeClassifier
    assert_array_equal(loaded.predict(all_digits[0]), fitted.predict(all_digits[0]))


def test_the_same_tree_when_a_worker_dies(digits_in_parts):
    """On two workers, one of which ends while it has partitions, and by the local scheduler."""
    small = {"max_depth": 2, "optimizer": Annealed(steps=20)}
    alone = classifier(**small).fit(*digits_in_parts)
    with distributed.Client(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        had, cluster = [], client.cluster

        def kill(metrics):
            if metrics["epoch"] == 3:
                worker = cluster.workers[0]
                had.extend(client.has_what(worker.address)[worker.address])
                cluster.sync(worker.close, executor_wait=False)

        again = classifier(callback=kill, **small).fit(*digits_in_parts)
        assert len(client.scheduler_info()["workers"]) == 1
    assert any("encode" in str(key) for key in had)
    assert again.tree_ == alone.tree_


def test_partitions_in_turn(digits_in_parts, all_digits):
    """Fewer partitions at a time than there are, of which one is smaller than the others."""
    model = classifier(n_jobs=2, optimizer=Annealed(steps=60)).fit(*digits_in_parts)
    assert model.score(*all_digits) > 0.9


@pytest.mark.parametrize("has_common_source", [False, True])
def test_each_pass_reads_what_X_and_y_are_made_of_once(all_digits, has_common_source):
    X, y = all_digits[0][:600], all_digits[1][:600]
    table, read = np.column_stack([X, y]), []

    def part(number):
        read.append(number)
        return table[200 * number:200 * (number + 1)]

    parts = da.concatenate([
        da.from_delayed(delayed(part)(number), (200, 65), X.dtype) for number in range(3)])
    model = classifier(max_depth=2, n_jobs=1, optimizer=Annealed(steps=40)).fit(
        parts[:, :64], parts[:, 64] if has_common_source else da.from_array(y, chunks=200))
    evaluations = np.isfinite(model.history_["validation"]).sum()
    # Targets, scaling; baseline, comparison, description. An evaluation may drop empty leaves.
    assert len(read) <= 3 * (5 + model.n_iter_ + 2 * evaluations)


def test_sparse_partitions(digits_in_parts, all_digits):
    X, y = digits_in_parts
    model = classifier(max_depth=4, optimizer=Annealed(steps=40)).fit(
        X.map_blocks(sparse.csr_array), y)
    assert model.score(*all_digits) > 0.8
    assert_array_equal(model.predict(X.map_blocks(sparse.csr_array)).compute(),
                       model.predict(all_digits[0].astype(np.float32)))


def test_frames_with_categories_and_gaps():
    pd = pytest.importorskip("pandas")
    # Without pyarrow, it raises an ImportError of its own.
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "number": random.normal(size=1200), "kind": pd.Categorical(random.choice(list("abc"), 1200))
    })
    y = pd.Series(np.where(frame["kind"] == "a", 0, 3) + (frame["number"] > 0), name="y")
    frame.loc[::7, "number"] = np.nan
    X, y = dd.from_pandas(frame, npartitions=3), dd.from_pandas(y, npartitions=3)
    model = ObliqueTreeRegressor(
        max_depth=3, optimizer=Annealed(steps=120), random_state=0).fit(X, y)
    assert list(model.feature_names_in_) == ["number", "kind"]
    predictions = model.predict(X)
    assert_array_equal(predictions.compute(), model.predict(frame))
    assert ((predictions.compute() - y.compute()) ** 2).mean() < 0.2
    assert model.predict_quantiles(frame[:2]).shape == (2, 3)


@pytest.mark.parametrize(("n_gaps", "is_told"), [(1, False), (4, False), (5, True)])
def test_gaps_and_rare_categories_are_counted_over_all_partitions(n_gaps, is_told):
    """One in each partition."""
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"number": random.normal(size=500),
                          "kind": random.choice(list("abc"), 500).astype(object)})
    gaps = np.arange(n_gaps) * 100
    frame.loc[gaps, "number"], frame.loc[gaps, "kind"] = np.nan, [*"defgh"][:n_gaps]
    y = pd.Series(np.arange(500) % 2)
    model = classifier(validation_fraction=None, max_depth=1, init="info_gain", optimizer=None)
    model.fit(dd.from_pandas(frame, npartitions=5), dd.from_pandas(y, npartitions=5))
    assert model.encoded_feature_names_ == [
        "number", *["number is missing"] * is_told, "kind = a", "kind = b", "kind = c",
        *["kind is rare"] * is_told]


def test_tables_in_files(tmp_path):
    """Columns of X and y of a table in several files are read by themselves."""
    pytest.importorskip("pyarrow")
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    random = np.random.default_rng(0)
    frame = pd.DataFrame({name: random.normal(size=600) for name in "abcdefgh"})
    frame["label"] = (frame["a"] > frame["b"]).astype(int)
    dd.from_pandas(frame, npartitions=6).to_parquet(tmp_path)
    table = dd.read_parquet(tmp_path)
    X, y = table.drop(columns="label"), table["label"]
    model = classifier(max_depth=2, init="info_gain", optimizer=None).fit(X, y)
    assert model.n_node_samples_[0] == 600
    with warnings.catch_warnings():     # dask warned of arrays beside data frames
        warnings.simplefilter("error")
        assert model.score(X, y) > 0.7


def test_weights_and_limits(digits_in_parts, all_digits):
    X, y = digits_in_parts
    weight = da.where(y < 5, 1.0, 0.0)
    model = classifier(
        optimizer=Annealed(steps=30), min_samples_leaf=40, max_leaf_nodes=6,
        class_weight="balanced").fit(X, y, weight)
    count = np.bincount(model.tree_.apply(all_digits[0][all_digits[1] < 5]))
    assert len(count) <= 6
    assert count.min() >= 40
    assert set(np.unique(model.predict(all_digits[0]))) <= set(range(5))


def test_shares_of_the_samples_leave_out_those_without_weight():
    X, y = np.linspace(0.0, 1.0, 800)[:, None], np.arange(800) // 100 % 2
    model = ObliqueTreeClassifier(
        init="info_gain", optimizer=None, min_samples_leaf=0.2, random_state=0).fit(
        *(da.from_array(each, chunks=400) for each in (X, y, 1.0 * (X[:, 0] < 0.5))))
    assert 80 <= np.bincount(model.apply(X[X[:, 0] < 0.5])).min() < 160


@pytest.mark.parametrize("kind", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_scores_of_frames_are_those_in_memory(kind):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(90, 2)), columns=["a", "b"])
    target = (frame["a"] > random.normal(size=90)).astype(int)
    weight = pd.Series(random.uniform(size=90))
    parts = [dd.from_pandas(each, npartitions=3) for each in (frame, target, weight)]
    model = kind(max_depth=2, optimizer=None).fit(*parts[:2])
    assert model.score(*parts) == model.in_memory().score(frame, target, weight) < 1.0


def test_labels_that_a_partition_lacks():
    X = np.linspace(0.0, 1.0, 900)[:, None]
    y = np.repeat(["a", "b", "c"], 300)
    model = classifier(max_depth=2, optimizer=Annealed(steps=40)).fit(
        da.from_array(X, chunks=(300, 1)), da.from_array(y, chunks=300))
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("optimizer", [Annealed(steps=20), None])
def test_labels_without_weight(optimizer):
    """Labels are classes, as in memory, also where only partitions without weight have them."""
    X, y = np.arange(120.0)[:, None], np.repeat([0, 1, 2], 40)
    weight = np.where(y == 2, 0.0, 1.0)
    model = classifier(max_depth=2, optimizer=optimizer).fit(
        *(da.from_array(each, chunks=(40, 1)[:each.ndim]) for each in (X, y, weight)))
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) == {0, 1}


def regression_in_parts(n_targets=1):
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = X[:, :n_targets] if n_targets > 1 else X[:, 0]
    return X, [da.from_array(each, chunks=(40, 3)[:each.ndim]) for each in (X, y)]


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("estimator", [
    ObliqueTreeRegressor(2, optimizer=Annealed(steps=20), validation_fraction=None),
    ngdt.dask.ObliqueForestRegressor(2, max_depth=2, optimizer=Annealed(steps=20))], ids=str)
def test_quantiles_and_features_are_lazy_and_those_in_memory(estimator, n_targets):
    X, parts = regression_in_parts(n_targets)
    model = estimator.fit(*parts)
    for call in (lambda X: model.predict_quantiles(X, [0.2, 0.8]), model.encode):
        found = call(parts[0])
        assert found.chunks[0] == (40, 40, 40)
        assert_array_equal(found.compute(), call(X))
        assert found.shape == call(X).shape
        assert found.dtype == call(X).dtype


def test_quantiles_without_checks_of_the_input():
    X, parts = regression_in_parts()
    model = ObliqueTreeRegressor(
        2, optimizer=Annealed(steps=20), validation_fraction=None).fit(*parts)
    expected = model.predict_quantiles(X)
    for given in (X, parts[0]):
        assert_array_equal(model.predict_quantiles(given, check_input=False), expected)


@pytest.mark.parametrize("estimator", [
    ObliqueTreeRegressor(2, optimizer=Annealed(steps=20), validation_fraction=None),
    ngdt.dask.ObliqueForestRegressor(2, max_depth=2, optimizer=Annealed(steps=20))], ids=str)
def test_methods_for_samples_in_memory_take_no_collection(estimator):
    X, parts = regression_in_parts()
    model = estimator.fit(*parts)
    assert len(model.explain(X[:2])) == 2
    for call in (model.explain, model.decision_path, lambda X: model.shap_values(X, parts[0])):
        with pytest.raises(TypeError, match="must be in memory for this method"):
            call(parts[0])
    with pytest.raises(ValueError, match="X must be two-dimensional, got 1"):
        model.fit(parts[0][:, 0], parts[1])
    assert not hasattr(ObliqueTreeRegressor(), "cost_complexity_pruning_path")
    assert not hasattr(ngdt.dask.ObliqueForestClassifier(), "predict_quantiles")


def test_empty_partitions_and_unknown_sizes():
    X = np.linspace(0.0, 1.0, 900)[:, None]
    y = (X[:, 0] > 0.5).astype(int)
    parts = da.from_array(np.column_stack([X, y]), chunks=(150, 2))
    parts = parts[parts[:, 0] > 0.2]        # the first partition is empty, no size is known
    model = classifier(max_depth=2, optimizer=Annealed(steps=40)).fit(
        parts[:, :1], parts[:, 1].astype(int))
    assert_array_equal(model.predict(parts[:, :1]).compute(), model.predict(X[X > 0.2][:, None]))
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize(("parameters", "message"), [
    ({"optimizer": "tao"}, "optimizer='tao' cannot train on the partitions"),
    ({"optimizer": TAO()}, "cannot train on the partitions"),
    ({"optimizer": ["annealed"]}, "cannot train on the partitions"),
    ({"optimizer": Annealed(mixing=0.4)}, "mixing=0"),
    ({"optimizer": SSGD(renew="epoch")}, "renew='step'"),
    ({"leaf": "linear"}, "leaf='linear' is not available"),
    ({"max_time": 5.0}, "max_time is not available"),
    ({"warm_start": True}, "warm_start is not available"),
], ids=str)
def test_what_partitions_cannot_give_is_refused_by_name(parameters, message, digits_in_parts):
    with pytest.raises(ValueError, match=message):
        classifier(**parameters).fit(*digits_in_parts)


def test_losses_whose_leaves_are_no_sums_are_refused(digits_in_parts):
    with pytest.raises(ValueError, match="loss='absolute_error'"):
        ObliqueTreeRegressor(loss="absolute_error").fit(*digits_in_parts)


def test_bad_collections(digits_in_parts, all_digits):
    X, y = digits_in_parts
    with pytest.raises(TypeError, match="X must be a dask array or data frame, got ndarray"):
        classifier().fit(*all_digits)
    with pytest.raises(ValueError, match="X has 1797 samples, but y"):
        classifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="X has 4 partitions, but y has 2: the part"):
        classifier().fit(X[X[:, 0] == 0], y.rechunk(1000))
    with pytest.raises(ValueError, match="X has no samples of positive weight to train on"):
        classifier().fit(X, y, sample_weight=da.zeros(len(y), chunks=500))
    with pytest.raises(AttributeError, match="no partial_fit"):
        _ = classifier().partial_fit
    broken = da.where(X > 1e9, 1.0, X)
    broken[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        classifier().fit(broken, y)


def test_partitions_of_targets_become_those_of_samples(digits_in_parts):
    X, y = digits_in_parts
    model = classifier(optimizer=None, max_depth=3)
    expected = model.fit(X, y).tree_
    assert model.fit(X, y.rechunk(180)).tree_ == expected


def test_no_optimizer_keeps_the_initial_tree_with_leaves_of_all_samples(digits_in_parts):
    model = classifier(optimizer=None, max_depth=3).fit(*digits_in_parts)
    assert model.tree_.n_leaves == 8
    assert model.n_iter_ == 0


def test_the_default_depth_is_that_in_memory():
    X, y = np.linspace(0, 1, 600)[:, None], np.arange(600) % 2
    parameters = {"init": "info_gain", "optimizer": None, "random_state": 0}
    tree = ObliqueTreeClassifier(**parameters).fit(
        da.from_array(X, chunks=(300, 1)), da.from_array(y, chunks=300))
    alone = ngdt.ObliqueTreeClassifier(**parameters).fit(X, y)
    assert tree.get_depth() == alone.get_depth() == 8


def test_linear_leaves_are_not_lost_in_silence():
    X = np.linspace(0, 1, 300)[:, None]
    linear = ngdt.ObliqueTreeRegressor(1, leaf="linear", init="info_gain", optimizer=None)
    tree = linear.fit(X, X[:, 0]).tree_
    X = da.from_array(X, chunks=(150, 1))
    with pytest.warns(UserWarning, match="replaced the linear leaves") as caught:
        model = ObliqueTreeRegressor(init=tree, optimizer=None).fit(X, X[:, 0])
    assert caught[0].filename == __file__
    assert model.tree_.slopes is None
    with pytest.warns(UserWarning, match="replaced the linear leaves") as caught:
        ngdt.dask.ObliqueForestRegressor(2, init="model_tree", optimizer=None).fit(X, X[:, 0])
    assert len(caught) == 1


def test_the_module_is_imported_when_it_is_used_first():
    assert ngdt.__getattr__("dask") is ngdt.dask


def test_the_score_does_not_depend_on_the_unit_of_targets():
    X = np.random.default_rng(0).normal(size=(200, 3))
    scores = []
    for unit in (1e-200, 1.0, 1e200):
        parts = da.from_array(X, chunks=(100, 3)), da.from_array(unit * X[:, 0], chunks=100)
        model = ObliqueTreeRegressor(2, optimizer=Annealed(steps=40), random_state=0)
        scores.append(model.fit(*parts).score(*parts))
    assert scores[1] > 0.8
    assert_allclose(scores, scores[1])
