"""Results of a fit in words: the kind of a tree, summaries, and how notebooks show them."""

import html
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import ngdt
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt._util.numbers import format_number
from ngdt.initializers import INITIALIZERS, InfoGain, Initializer, RandomComplete
from ngdt.optimizers import TAO, Annealed, Optimizer, OptimizerResult
from ngdt.pruning import prune_at, refit_leaves

GOLDEN = Path(__file__).parents[1] / "persistence/golden"
IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
GREEDY = ObliqueTreeClassifier(2, optimizer=None).fit(*IRIS)


class Doubled(Optimizer):
    """Records nothing, and returns the tree, or one that is wrong for all samples."""

    def __init__(self, factor=2.0):
        self.factor = factor

    def _optimize(self, tree, problem):
        return OptimizerResult(tree.replace(values=self.factor * tree.values))


class OneSplit(Initializer):
    def _initialize(self, problem):
        weights = np.eye(1, problem.X.shape[1])
        return problem.refit_leaves(
            Tree(weights, [5.8], [~0], [~1], np.zeros((2, problem.n_outputs))))


def fitted(**parameters):
    return ObliqueTreeClassifier(2, random_state=0).set_params(**parameters).fit(*IRIS)


def regression(**parameters):
    return ObliqueTreeRegressor(2, random_state=0).set_params(**parameters).fit(*DIABETES)


# -- kinds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("parameters", "kind"), [
    ({"max_depth": 0, "optimizer": None}, "single leaf"),
    ({"max_depth": 0, "optimizer": None, "leaf": "linear"}, "linear model"),
    ({"optimizer": "tao"}, "tree trained as a whole by TAO"),
    ({"optimizer": [TAO(), "linear_leaves"], "validation_fraction": None},
     "tree trained as a whole by TAO, with linear leaves"),
    ({"optimizer": [TAO(), "cut_leaves"]}, "tree trained as a whole by TAO"),
    ({"optimizer": "ssgd", "validation_fraction": None}, "tree trained as a whole by SSGD"),
    ({"optimizer": [Annealed(steps=20), TAO()], "validation_fraction": None},
     "tree trained as a whole by Annealed and TAO"),
    ({"optimizer": [TAO(), Doubled()]}, "tree trained as a whole by TAO and Doubled"),
    ({"optimizer": [Doubled(), "tao"]}, "tree trained as a whole by Doubled and TAO"),
    ({"init": GREEDY.tree_, "optimizer": "tao"}, "tree trained as a whole by TAO"),
    ({"optimizer": None}, "greedy tree"),
    ({"optimizer": None, "leaf": "linear", "validation_fraction": None},
     "greedy tree, with linear leaves"),
    ({"optimizer": "regrow"}, "pruned greedy tree"),
    ({"init": "pruned", "optimizer": None}, "pruned greedy tree"),
    ({"init": InfoGain(), "optimizer": None}, "greedy tree"),
    ({"init": RandomComplete(), "optimizer": None}, "random tree"),
    ({"init": OneSplit(), "optimizer": None}, "initial tree"),
    ({"init": GREEDY.tree_, "optimizer": None}, "given tree"),
    ({"init": GREEDY, "optimizer": None}, "given tree"),
    ({"init": DecisionTreeClassifier(max_depth=2).fit(*IRIS), "optimizer": None}, "given tree"),
    # What is kept is the pruned tree by default, and else the initial one.
    ({"optimizer": Doubled(-1.0), "validation_fraction": 0.3}, "greedy tree"),
    ({"init": "oc1", "optimizer": Doubled(-1.0), "validation_fraction": 0.3},
     "greedy oblique tree"),
    ({"init": GREEDY, "optimizer": Doubled(-1.0)}, "given tree"),
], ids=str)
def test_kind(parameters, kind):
    assert fitted(**parameters).kind_ == kind


@pytest.mark.parametrize(("name", "noun"), [
    ("co2", "greedy oblique tree"), ("greedy_lp", "greedy oblique tree"),
    ("info_gain", "greedy tree"), ("model_tree", "model tree"), ("oc1", "greedy oblique tree"),
    ("pruned", "pruned greedy tree"), ("random_oblique", "random tree"),
    ("random_complete", "random tree"), ("soft_greedy", "greedy oblique tree")])
def test_every_initializer_has_a_noun(name, noun):
    assert INITIALIZERS[name].noun == noun


def test_a_model_tree_says_nothing_of_its_linear_leaves():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 2))
    y = np.where(X[:, 0] < 0.0, 3.0 * X[:, 1], 5.0 - 3.0 * X[:, 1])
    model = ObliqueTreeRegressor(1, init="model_tree", optimizer=None).fit(X, y)
    assert model.tree_.slopes.any()
    assert model.kind_ == "model tree"


@pytest.mark.parametrize(("chosen", "kind"), [
    ("pruned, shrunk", "pruned greedy tree"), ("linear", "pruned greedy tree"),
    ("model tree", "model tree"),
    # Ctrl-C leaves a tree of the folds, without its history.
    ("model tree, tao", "tree trained as a whole by TAO"),
    ("annealed depth=4, linear, tao", "tree trained as a whole by Annealed and TAO")])
def test_kind_of_a_candidate_that_recorded_nothing(chosen, kind):
    model = fitted(optimizer=None).set_params(optimizer="auto")
    model.candidates_ = {"candidate": ["pruned", chosen], "chosen": [False, True]}
    assert model.kind_ == kind


def test_the_default_tree_has_the_kind_of_what_won():
    model = ObliqueTreeClassifier(2, leaf="constant", random_state=0).fit(*IRIS)
    names = set(model.history_["optimizer"])
    assert model.kind_ == (f"tree trained as a whole by {names.pop()}" if names else
                           "pruned greedy tree")


def test_a_tree_that_the_user_put_there_is_given():
    model = prune_at(fitted(optimizer="tao"), [1])
    assert len(model.candidates_["candidate"]) > 1
    model.tree_ = GREEDY.tree_
    assert model.kind_ == "given tree"
    assert repr(model).endswith(": given tree: 3 leaves, depth 2>")
    # Nothing else that is known of the training is true of it.
    assert model.summary() == "Given tree: 3 leaves, depth 2, 2 nonzero weights."
    # Nor is it so once its leaves are refitted.
    refitted = refit_leaves(model, *IRIS)
    assert refitted.kind_ == "given tree"
    assert refitted.summary() == (
        f"{model.summary()}\nIts leaves were then refitted to 150 samples.")
    assert refitted.n_iter_ == len(refitted.candidates_) == 0


def test_a_tree_that_a_warm_start_keeps_is_given(tmp_path):
    model = fitted(optimizer="tao", validation_fraction=None)
    assert model.tree_.n_nonzero > model.tree_.n_internal
    model.set_params(optimizer=Doubled(-1.0), validation_fraction=0.3, warm_start=True)
    with pytest.warns(UserWarning, match="^The initial tree was kept, a given tree: training"):
        model.fit(*IRIS)
    assert model.kind_ == "given tree"
    # Nothing is trained, here and of axis-parallel splits.
    assert model.set_params(optimizer=None).fit(*IRIS).kind_ == "given tree"
    greedy = fitted(init="pruned", optimizer=None).set_params(init="auto", warm_start=True)
    greedy.set_params(optimizer="regrow").partial_fit(*IRIS)
    ngdt.save(greedy, tmp_path / "model.ngdt")
    assert greedy.kind_ == ngdt.load(tmp_path / "model.ngdt").kind_ == "given tree"
    assert greedy.set_params(warm_start=False).fit(*IRIS).kind_ == "pruned greedy tree"


def test_parameters_that_are_set_later_do_not_change_the_kind():
    model = fitted(init="oc1", optimizer=None)
    text = model.summary()
    model.set_params(init="random_complete", optimizer="tao")
    assert model.kind_ == "greedy oblique tree"
    assert model.summary() == text
    assert model.set_params(optimizer=None).fit(*IRIS).kind_ == "random tree"


def test_unfitted_estimators_have_no_kind_and_no_summary():
    for model in (ObliqueTreeClassifier(), ObliqueForestClassifier(), ObliqueBoostingRegressor()):
        with pytest.raises(NotFittedError):
            model.summary()
        assert not hasattr(model, "kind_")


def test_models_of_files_have_a_kind_and_a_summary():
    assert ngdt.load(GOLDEN / "regressor-1.ngdt").kind_ == "greedy tree, with linear leaves"
    assert ngdt.load(GOLDEN / "forest-1.ngdt").summary() == (
        "Forest of 2 trees with 11 leaves in all: tree trained as a whole by Annealed (2).")
    assert ngdt.load(GOLDEN / "forest-1.ngdt").kind_ == (
        "forest: tree trained as a whole by Annealed (2)")


# -- summaries -------------------------------------------------------------------------------------


TABLE = {
    "candidate": ["pruned", "tao C=0.1", "tao C=1", "annealed depth=2"],
    "error": [0.12, 0.041, 0.08, 0.06], "standard_error": [0.02, 0.014, 0.01, 0.01],
    "n_folds": [1, 3, 3, 3], "chosen": [False, True, False, False]}


def competed(model, **columns):
    model.candidates_ = {name: column for name, column in (TABLE | columns).items()
                         if column is not None}
    return model.summary().partition("\n")[2]


OF_FOLDS = "\nErrors of fewer n_folds are of fewer samples: compare leads instead."
OTHERWISE = "\nFor another kind, set optimizer, init or leaf."
HEAD = ("On held-out samples, the first one wins unless another has a clear lead, in standard "
        "errors of the Brier score:\n")


@pytest.mark.parametrize(("columns", "text"), [
    ({}, """\
    candidate          error  n_folds
    pruned              0.12        1
    tao C=0.1, chosen  0.041        3
    tao C=1             0.08        3
    annealed depth=2    0.06        3"""),
    # Other columns, and a candidate that was not tested.
    ({"log_loss": [0.5, 0.25, 0.3333, 1.0], "lead": [0.0, 2.345, np.nan, -1.0], "n_leaves": 4 * [3],
      "error": [0.12, 0.041, np.nan, 0.06]}, """\
    candidate          error  log_loss  lead  n_folds
    pruned              0.12       0.5     0        1
    tao C=0.1, chosen  0.041      0.25  2.35        3
    annealed depth=2    0.06         1    -1        3"""),
])
def test_summary_of_a_competition(columns, text):
    assert competed(fitted(optimizer="tao"), **columns) == HEAD + text + OF_FOLDS + OTHERWISE


def test_summary_says_how_to_get_shorter_splits():
    pytest.importorskip("pandas")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)

    def tree(X, **parameters):
        return ObliqueTreeClassifier(random_state=0).set_params(**parameters).fit(X, y)

    long = tree(X)
    assert long.tree_.n_nonzero > 10 * long.tree_.n_internal
    head, fewer, single = long.summary().rsplit("\n", 2)
    assert head.endswith(OTHERWISE)
    for advice, most in (fewer, 10), (single, 1):
        short = tree(X, **eval(f"dict({advice.partition(': ')[2].removesuffix('.')})"))
        assert 1 <= short.tree_.n_nonzero <= most * short.tree_.n_internal
        assert short.get_n_leaves() <= 8 or most == 1
    assert ", max_leaf_nodes=3, " in tree(X, max_leaf_nodes=3).summary()
    given = tree(X, optimizer=TAO(C=10.0)).summary()
    assert "\nFor fewer weights in a split: a smaller C of TAO.\n" in given
    # Of pixels, of few columns, and of numbers, nothing has to be read.
    assert tree(X.to_numpy()).summary() == head
    assert tree(X[["mean radius", "mean texture"]]).summary().endswith(OTHERWISE)
    y = y + np.random.default_rng(0).normal(size=len(y)) / 10
    of_numbers = ObliqueTreeRegressor(random_state=0, leaf="constant").fit(X, y)
    assert of_numbers.tree_.n_nonzero > 10 * of_numbers.tree_.n_internal
    assert of_numbers.summary().endswith(OTHERWISE)


def test_summary_says_that_a_linear_model_gave_way():
    sentence = "\nThe first one is a linear model, which wins only with a clear lead." + OTHERWISE
    tree, linear = regression(optimizer=None), regression(max_depth=0, leaf="linear")
    for model, n_leaves, lead, has_given_way in (
            (tree, 1.0, 1.4, True), (tree, 1.0, 1.6, False), (tree, 1.5, 1.4, False),
            (linear, 1.0, 0.0, False)):
        text = competed(model, lead=[0.0, lead, -1.0, -1.0],
                        n_leaves=[n_leaves, model.get_n_leaves(), 2.0, 2.0])
        assert text.endswith(sentence) == has_given_way


@pytest.mark.parametrize(("lead", "failed", "is_told"), [
    (1.4, False, True), (-2.0, False, True), (1.6, False, False), (-2.0, True, False)])
def test_summary_says_that_the_log_loss_decided(lead, failed, is_told):
    text = competed(fitted(optimizer="tao"), lead=[0.0, lead, -1.0, -1.0],
                    failed=[False, False, failed, False])
    assert ("\nErrors tell little here: the log loss decided." in text) == is_told
    # A single leaf wins as none of the others is better.
    text = competed(fitted(optimizer="tao"), lead=[0.0, lead, -1.0, -1.0],
                    candidate=["pruned", "single leaf", "tao C=1", "annealed depth=2"])
    assert "the log loss" not in text


@pytest.mark.parametrize(("lead", "is_told"), [(3.0, True), (1.9, False)])
def test_summary_says_that_the_pruned_tree_gave_way(lead, is_told):
    text = competed(fitted(optimizer="tao"), lead=[0.0, 2.0, -1.0, lead],
                    candidate=["tao C=1", "tao C=0.1", "annealed depth=2", "pruned"])
    sentence = "\nThe pruned tree wins only with a clear lead over the best of the others, too."
    assert (sentence in text) == is_told


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("weights", "text"), [
    ([[1.0, 2.0]] * 3, "2 nonzero weights, the same in all splits"),
    ([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]], "3 nonzero weights, some shared by several splits"),
    ([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]], "6 nonzero weights"),
    ([[0.0, 2.0]] * 3, "3 nonzero weights")])
def test_weights_that_splits_share_count_once(form, weights, text):
    tree = Tree(form(weights), [0.0, -3.0, -10.0], [1, 2, ~0], [~3, ~2, ~1], np.eye(4))
    X, y = [[-5.0, -5.0], [-1.0, -1.5], [-0.5, -0.5], [1.0, 1.0]], [0, 1, 2, 3]
    model = ObliqueTreeClassifier(init=tree, optimizer=None).fit(X, y)
    assert model.summary().splitlines()[0].endswith(f", {text}.")


@pytest.mark.parametrize(("columns", "text"), [
    ({"error": [np.nan] * 4}, "It was not compared with other trees."),
    ({"error": None}, "It was not compared with other trees."), ({"chosen": None}, "")])
def test_summary_without_a_competition(columns, text):
    assert competed(fitted(optimizer="tao"), **columns) == text


@pytest.mark.parametrize(("parameters", "text"), [
    ({"optimizer": None}, "Greedy tree: 3 leaves, depth 2, 2 nonzero weights."),
    ({"max_depth": 0, "optimizer": None}, "Single leaf."),
    ({"optimizer": Doubled(-1.0), "validation_fraction": 0.3},
     "The initial tree was kept, a greedy tree: training made it worse."),
    ({"optimizer": Doubled(-1.0), "validation_fraction": 0.3, "init": "oc1"},
     "The initial tree was kept, a greedy oblique tree: training made it worse."),
    ({"optimizer": Doubled(-1.0), "init": GREEDY},
     "The initial tree was kept, a given tree: training made it worse."),
])
def test_summary_of_named_methods(parameters, text):
    assert fitted(**parameters).summary().endswith(text)


def test_what_was_kept_is_what_it_was_before_edits():
    model = prune_at(fitted(optimizer=Doubled(-1.0), validation_fraction=0.3), [0])
    assert model.summary().splitlines() == [
        "Single leaf.", "The initial tree was kept, a greedy tree: training made it worse.",
        "It was then pruned at the nodes [0]."]


def test_kept_score_bands_have_no_article():
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.warns(UserWarning, match="^The initial tree was kept, score bands: training"):
        ObliqueTreeClassifier(
            init="score_bands", optimizer=Doubled(-1.0), validation_fraction=0.3).fit(
            X, X[:, 0] > X[:, 1])


@pytest.mark.parametrize(("parameters", "text"), [
    ({"optimizer": Doubled(-1.0)}, "A pruned greedy tree was kept: "),
    ({"optimizer": Doubled(-1.0), "init": GREEDY}, "The initial tree was kept, a given tree: "),
])
def test_fit_warns_if_it_does_not_return_what_was_asked_for(parameters, text):
    for max_time, limits in (None, ""), (1e5, " and max_time=None"):
        with pytest.warns(UserWarning, match=f"{text}.*With validation_fraction=None{limits}, fit"):
            fitted(max_time=max_time, **parameters)


def test_a_training_on_all_samples_that_failed_is_told():
    class LostInTheEnd(Optimizer):
        def _optimize(self, tree, problem):
            is_end = len(problem.training_samples) == len(problem.y)
            return OptimizerResult(tree.replace(thresholds=tree.thresholds + 100.0 * is_end))

    with pytest.warns(UserWarning, match="A pruned greedy tree was kept: the training of the other "
                                         "one failed, as summary"):
        model = fitted(optimizer=LostInTheEnd())
    assert model.candidates_["failed"] == [True, False, False]
    assert "\nThe training of LostInTheEnd on all samples failed: it lost its" in model.summary()


def test_a_tree_of_one_label_says_so():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 2))
    y = np.where(random.random(2000) < np.where(X[:, 0] > 0, 0.3, 0.02), "rare", "common")
    with pytest.warns(UserWarning, match="All leaves predict 'common'.*class_weight"):
        model = ObliqueTreeClassifier(random_state=0).fit(X, y)
    assert model.get_n_leaves() > 1
    assert set(model.predict(X)) == {"common"}
    assert "All leaves predict 'common'" in model.summary()
    with pytest.warns(UserWarning, match="All leaves predict 0, with.*, see a threshold"):
        ObliqueTreeClassifier(class_weight={0: 1.0}, random_state=0).fit(
            X, (y == "rare").astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "All leaves" not in fitted(optimizer=None).summary()


def test_summary_counts_slopes():
    model = fitted(max_depth=0, optimizer=None, leaf="linear", validation_fraction=None)
    n = np.count_nonzero(model.tree_.slopes)
    assert model.summary() == f"Linear model: {n} nonzero weights."
    X, y = IRIS
    model.fit(X, y > 1)     # two classes have a single formula
    assert model.summary() == f"Linear model: {ngdt.export_text(model).count('*')} nonzero weights."


def test_summary_of_the_default_has_the_errors_of_candidates():
    model = ObliqueTreeClassifier(2, leaf="constant", random_state=0).fit(*IRIS)
    table, text = model.candidates_, model.summary()
    winner = table["chosen"].index(True)
    row = text.splitlines()[3 + winner].split("  ")
    assert row[2] == f"{table['candidate'][winner]}, chosen"
    assert " ".join(row).split()[-4:-2] == [
        format_number(table[name][winner]) for name in ("error", "log_loss")]
    # One sentence in a line.
    assert ". " not in text
    assert len(text.splitlines()) == 4 + len(table["candidate"])


def test_summary_of_forests():
    model = ObliqueForestClassifier(
        3, max_depth=2, init="random_oblique", optimizer=None, random_state=0).fit(*IRIS)
    n_leaves = sum(tree.get_n_leaves() for tree in model)
    assert model.summary() == (
        f"Forest of 3 trees with {n_leaves} leaves in all: random tree (3).")
    model.candidates_ = {
        "candidate": ["a", "b", "c"], "error": [0.1, 0.2, np.nan], "n_trees": [3, 0, 0]}
    assert model.summary().endswith(
        "\nThe numbers of each kind minimise the squared error of probabilities on held-out "
        "samples:\n"
        "    candidate  error  n_trees\n"
        "    a            0.1        3\n"
        "    b            0.2        0" + OTHERWISE)


def test_forests_have_the_leaves_of_all_trees_and_the_depth_of_the_deepest():
    forest = ObliqueForestRegressor(3, max_depth=3, optimizer=None, random_state=0).fit(*DIABETES)
    boosted = ObliqueBoostingRegressor(
        ObliqueForestRegressor(2, max_depth=2, optimizer=None), random_state=0).fit(*DIABETES)
    of_all = [tree for each in boosted.estimators_ for tree in each]
    for model, trees in ((forest, [*forest]), (boosted, of_all)):
        assert model.get_n_leaves() == sum(tree.get_n_leaves() for tree in trees)
        assert model.get_depth() == max(tree.get_depth() for tree in trees) > 0
        with pytest.raises(NotFittedError):
            clone(model).get_n_leaves()


def test_summary_of_a_forest_counts_the_kinds_of_its_trees():
    model = ObliqueForestClassifier(
        2, max_depth=2, init="random_oblique", optimizer=None, random_state=0).fit(*IRIS)
    model.estimators_ += [fitted(optimizer="tao")]
    assert model.summary().endswith(
        " in all: random tree (2), tree trained as a whole by TAO (1).")


def test_summary_of_boosting():
    forest = ObliqueForestRegressor(6, max_depth=2, optimizer=None)
    model = ObliqueBoostingRegressor(forest, random_state=0).fit(*DIABETES)
    model.estimators_, model.oob_errors_ = 2 * [model.estimators_[0]], [4000.0, 3000.0]
    n_trees = 2 * len(model.estimators_[0])
    assert model.summary().startswith(f"Sum of 2 forests with {n_trees} trees and ")
    assert model.summary().endswith(
        "\nThe second lowered the out-of-bag squared error from 4000 to 3000.")
    del model.estimators_[1]
    assert model.summary() == model.estimators_[0].summary()


@pytest.mark.parametrize("model", [
    ObliqueTreeClassifier(2, optimizer="tao"), ObliqueForestClassifier(2, optimizer=None)])
def test_fit_ends_with_the_summary(model, capsys):
    model = clone(model).set_params(verbose=1, random_state=0).fit(*IRIS)
    lines = [f"[ngdt] {line}" for line in model.summary().splitlines()]
    assert capsys.readouterr().out.splitlines()[-len(lines):] == lines


# -- how they are shown ----------------------------------------------------------------------------


def test_repr():
    model = ObliqueTreeClassifier(2, optimizer="tao")
    assert repr(model) == "ObliqueTreeClassifier(max_depth=2, optimizer='tao')"
    assert repr(model.fit(*IRIS)) == (
        "<ObliqueTreeClassifier(max_depth=2, optimizer='tao'): tree trained as a whole by TAO: "
        "3 leaves, depth 2>")
    assert repr(fitted(max_depth=0, optimizer=None)).endswith(": single leaf>")


def test_repr_of_forests():
    first = ObliqueForestRegressor(2, max_depth=0, optimizer=None, random_state=0)
    text = repr(first)
    assert repr(first.fit(*DIABETES)) == f"<{text}: forest of 2 trees with 2 leaves>"
    assert repr(clone(first).set_params(n_estimators=1).fit(*DIABETES)).endswith(
        ": forest of 1 tree with 1 leaf>")
    model = ObliqueBoostingRegressor(first)
    # Within others, it has the parameters only.
    assert repr(model).split() == f"ObliqueBoostingRegressor(estimator={text})".split()
    model.estimators_ = [first]
    assert repr(model).endswith("): forest of 2 trees with 2 leaves>")
    model.estimators_ = [first, first]
    assert repr(model).endswith("): sum of 2 forests with 4 trees and 4 leaves>")


def test_repr_breaks_lines_where_scikit_learn_does():
    model = fitted(optimizer="tao", min_samples_leaf=3, validation_fraction=None)
    text = repr(clone(model))
    assert text.count("\n") == 1
    assert repr(model).startswith(f"<{text}: ")
    pipeline = make_pipeline(StandardScaler(), clone(model))
    before = repr(pipeline)
    assert max(map(len, before.splitlines())) <= 80
    assert repr(pipeline.fit(*IRIS)) == before


def test_pages_of_notebooks_end_with_the_summary():
    model = fitted(optimizer="tao")
    for page in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert page.endswith(f"<pre>{model.summary()}</pre>")
    assert "<pre>Tree" not in clone(model)._repr_html_()
    with config_context(display="text"):
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}
    assert "max_depth" in make_pipeline(model)._repr_html_()
    forest = ObliqueForestClassifier(2, optimizer=None).fit(*IRIS)
    assert forest._repr_html_().endswith(f"<pre>{forest.summary()}</pre>")


def test_pages_escape_names():
    model = fitted(optimizer="tao")
    competed(model, candidate=["pruned", "<b>", "a", "<i>&"])
    assert "<i>&" in model.summary()
    page = model._repr_html_()
    assert page.endswith(f"<pre>{html.escape(model.summary())}</pre>")
    assert "<i>&" not in page
