"""Trees of pipelines and searches, as text: names and units are those of the table."""

import re

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from helpers import rules_text
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._inspection.captions import captions_of
from ngdt._inspection.pipelines import units_of
from ngdt.export import export_graphviz, export_rules, export_text


def table(n=80):
    """Four columns in units of their own: years, money, shares, and one of large and near numbers.
    """
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(1950, 2020, n), rng.lognormal(10, 1, n).round(), rng.random(n),
                  1e6 + rng.integers(0, 9, n) / 10], axis=1)
    return X, (X - X.mean(axis=0)) @ (0.02, 3e-5, 1.0, 1.0) > 0


SCALERS = [
    [StandardScaler()], [StandardScaler(with_mean=False)], [StandardScaler(with_std=False)],
    [MinMaxScaler((-3, 5))], [MaxAbsScaler()], [RobustScaler()],
    [RobustScaler(with_centering=False, with_scaling=False)],
    [SimpleImputer(), StandardScaler(), MinMaxScaler()],
    [make_column_transformer((StandardScaler(), [2, 0]), remainder="passthrough"),],
    [make_column_transformer((make_pipeline(SimpleImputer(), RobustScaler()), [1, 2]),
                             remainder=MinMaxScaler())],
]


@pytest.mark.parametrize("steps", SCALERS, ids=str)
def test_units_are_those_before_the_scalers(steps):
    X, _ = table()
    steps = make_pipeline(*steps).fit(X)
    Z = steps.transform(X)
    scale, offset = units_of([step for _, step in steps.steps], 4)
    order = [int(name[-1]) for name in steps.get_feature_names_out()]
    np.testing.assert_allclose(Z * scale + offset, X[:, order], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("arguments", [dict(init="co2", max_depth=3), dict(max_depth=9)])
def test_rules_in_units_of_the_table_send_each_training_sample_as_the_tree(dtype, arguments):
    X, y = table()
    X = X.astype(dtype)
    y = y ^ (np.random.default_rng(1).random(80) < 0.2)     # splits pass close to samples
    model = ObliqueTreeClassifier(optimizer=None, random_state=0, **arguments)
    model = make_pipeline(StandardScaler(), model).fit(X, y)
    names = {f"x{j}": X[:, j].astype(float) for j in range(4)}
    leaf = model[-1].apply(model[0].transform(X))
    for rules in (export_rules(model), export_rules(model, X=X)):
        for rule in rules:
            met = np.all([eval(text, {}, names) for text in rule.conditions], axis=0)
            np.testing.assert_array_equal(met, leaf == rule.leaf)
            assert rule.n_samples == met.sum()


def table_with_gaps(n=300):
    """Two columns of numbers, one of which has gaps, and one of categories, as a data frame."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({
        "income": rng.lognormal(10, 0.5, n).round(), "age": rng.integers(18, 80, n).astype(float),
        "owner": rng.choice(["yes", "no"], n)})
    y = (X["income"] > 20000).to_numpy() ^ (rng.random(n) < 0.1)
    gap = rng.random(n) < 0.1
    X.loc[gap, "income"] = np.nan
    return X, y | gap


ENCODED = {
    "gaps": lambda X: (X[["income", "age"]], [StandardScaler()]),
    "gaps, moved only": lambda X: (X[["income", "age"]], [StandardScaler(with_std=False)]),
    "categories": lambda X: (X, [
        make_column_transformer((StandardScaler(), ["income", "age"]), remainder="passthrough",
                                verbose_feature_names_out=False).set_output(transform="pandas")]),
}


@pytest.mark.parametrize("case", ENCODED)
def test_units_of_tables_with_gaps_and_categories(case):
    X, y = table_with_gaps()
    X, steps = ENCODED[case](X)
    model = make_pipeline(*steps, ObliqueTreeClassifier(1, optimizer=None)).fit(X, y)
    found = re.match(r"if income <= (\d+):", rules_text(model))
    assert found
    assert 19000 < int(found[1]) < 21000
    # A tree of several terms, as it would be without the scalers.
    oblique = ObliqueTreeClassifier(3, init="co2", optimizer=None, random_state=0)
    model = make_pipeline(*steps, oblique).fit(X, y)
    tree = model[-1]
    alone = ObliqueTreeClassifier(0, optimizer=None).fit(X, y)
    captions, encoded = captions_of(model), alone.encode(X)
    assert captions.features == alone._table.features
    np.testing.assert_array_equal(
        captions.tree.apply(encoded), tree.apply(model[:-1].transform(X)))
    for name in ("mean", "std", "low", "high"):
        np.testing.assert_allclose(
            getattr(captions.summary, name), getattr(alone._sample_summary, name))
    assert captions.tree.n_internal == tree.tree_.n_internal


def test_formulas_are_in_units_of_the_table(diabetes):
    X, y = diabetes[0] * 1000 + 50, diabetes[1]
    tree = ObliqueTreeRegressor(1, leaf="linear", optimizer=None, random_state=0)
    pipeline = make_pipeline(StandardScaler(), tree).fit(X, y)
    captions = captions_of(pipeline)
    np.testing.assert_allclose(captions.tree.predict(X)[:, 0], pipeline.predict(X))
    summary, X_leaf = captions.summary, [X[captions.tree.apply(X) == j] for j in range(2)]
    for found, expected in [
            (summary.mean, X.mean(axis=0)), (summary.std, X.std(axis=0)),
            (summary.low, X.min(axis=0)), (summary.high, X.max(axis=0)),
            (summary.leaf_means, [each.mean(axis=0) for each in X_leaf])]:
        np.testing.assert_allclose(found, expected)


def test_limits_of_linear_leaves_are_those_of_the_pipeline():
    X, _ = table()
    tree = ObliqueTreeRegressor(1, leaf="linear", optimizer=None, random_state=0)
    pipeline = make_pipeline(StandardScaler(), tree).fit(X, X[:, 2] + 1e-3 * X[:, 0])
    far = X.mean(axis=0) + 5 * (X - X.mean(axis=0))
    expected = pipeline.predict(far)
    np.testing.assert_allclose(captions_of(pipeline).tree.predict(far)[:, 0], expected)
    assert rules_text(pipeline).count("within [") == 2
    assert expected.max() <= pipeline[-1].tree_.ranges.max()    # some samples are beyond them


def test_names_pass_through_the_steps(iris):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(iris[0], columns=["a", "b", "c", "d"])
    tree = ObliqueTreeClassifier(1, optimizer=None)
    scaled = make_pipeline(StandardScaler(), tree).fit(X, iris[1])
    alone = rules_text(tree.fit(X, iris[1]))
    assert re.match("if [cd] <= ", alone)
    scaled = make_pipeline(StandardScaler(), tree).fit(X, iris[1])
    assert rules_text(scaled) == alone     # the same split, in the same units
    frozen = make_pipeline(FrozenEstimator(scaled[0]), FrozenEstimator(scaled[1]))
    assert rules_text(frozen) == alone
    assert export_text(FrozenEstimator(tree)) == export_text(tree)
    nested = make_pipeline(make_pipeline(StandardScaler()), scaled)
    search = GridSearchCV(nested, {"pipeline-2__standardscaler__with_mean": [True]}, cv=2)
    assert rules_text(search.fit(X, iris[1])) == alone
    squares = make_pipeline(PolynomialFeatures(), StandardScaler(), tree).fit(X, iris[1])
    assert re.match(r"if ([abcd]\^2|[abcd]|[abcd] [abcd]) <= ", rules_text(squares))
    nameless = make_pipeline(FunctionTransformer(), tree).fit(*iris)
    assert re.match("if x[23] <= ", rules_text(nameless))
    assert "samples = 150" in export_graphviz(scaled)


@pytest.mark.parametrize("idle", [None, "passthrough"])
def test_steps_that_do_nothing_hide_no_scaler(idle, iris):
    X, y = iris
    tree = ObliqueTreeClassifier(1, optimizer=None)
    alone = export_text(tree.fit(X, y))
    for before in (make_pipeline(StandardScaler(), idle), make_column_transformer(
            (make_pipeline(StandardScaler(), idle), [0, 1, 2, 3]))):
        pipeline = make_pipeline(idle, before, tree).fit(X, y)
        assert export_text(pipeline, feature_names=["x0", "x1", "x2", "x3"]) == alone
        assert captions_of(pipeline, X=X[:9]).n_node_samples[0] == 9
