"""Claims of the gallery: its pictures and texts are arguments, which have to hold."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.stem for path in ROOT.glob("examples/plot_*.py"))


@pytest.fixture
def run(monkeypatch, docs_packages):
    """Run an example, and return its names."""
    import matplotlib.pyplot as plt

    monkeypatch.setenv("MPLBACKEND", "agg")
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    yield lambda name: runpy.run_path(str(ROOT / f"examples/plot_{name}.py"))
    plt.close("all")


def test_links_and_order_name_the_examples():
    pages = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/*/*.rst")
                    if path.parent.name != "auto_examples")     # which may be of another commit
    linked = re.findall(r"sphx_glr_auto_examples_(plot_\w+)\.py", pages)
    assert linked
    assert set(linked) <= set(EXAMPLES)
    conf = (ROOT / "docs/conf.py").read_text(encoding="utf-8")
    ordered = re.search(r"for name in \((.*?)\)\]", conf, re.S)[1]
    assert sorted(f"plot_{name}" for name in re.findall(r'"(\w+)"', ordered)) == EXAMPLES


def test_score_bands_are_more_accurate_than_a_forest(run):
    names = run("score_bands")
    accuracy = names["accuracy"]
    assert accuracy["score bands"] > accuracy["random forest"] > accuracy["pruned tree"]
    assert np.abs(np.array(names["says"]) - names["share"]).max() < 0.05


def test_readable_tree_has_fewer_leaves_and_is_more_accurate(run):
    names = run("readable_tree")
    greedy, whole = names["models"].values()
    assert whole.get_n_leaves() < greedy.get_n_leaves()
    titles = [part.get_suptitle() for part in names["figure"].subfigs]
    assert whole.tree_.weights.min() >= 0
    accuracies = [float(re.search(r"([\d.]+) %", title)[1]) for title in titles]
    assert accuracies[1] > accuracies[0] + 1


def test_tree_has_a_hundredth_of_the_leaves_of_a_forest(run):
    names = run("size")
    size, (_, random, trees, forests) = names["n_leaves"], names["families"].values()

    def score(model):
        return model.score(names["X_test"], names["y_test"])

    (twenty,) = (forest for forest in random if forest.n_estimators == 20)
    assert 2200 < size(twenty) < 2800
    assert any(score(tree) >= score(twenty) and size(tree) <= size(twenty) / 90 for tree in trees)
    assert forests[-1].n_estimators == 10
    assert random[-1].n_estimators == 100
    assert score(forests[-1]) > score(random[-1])


def test_soft_and_hard_tree_agree_in_the_end(run):
    names = run("soft_training")
    soft, hard = (
        [float(ax.get_xlabel().removesuffix(" % right")) for ax in row] for row in names["axes"])
    assert soft == sorted(soft)
    assert hard[-1] == pytest.approx(soft[-1], abs=0.5)
    assert hard[-1] > 100 * names["greedy"].score(names["X"][1000:], names["y"][1000:]) + 5


def test_three_splits_are_found_together(run):
    names = run("gto")
    greedy, pruned, whole = (names[name] for name in ("greedy", "pruned", "gto"))
    scores = [model.score(names["X_test"], names["y_test"]) for model in (greedy, pruned, whole)]
    assert greedy.tree_.n_internal > 30
    assert whole.tree_.n_internal == 3
    assert whole.score(names["X"], names["y"]) == 1.0
    assert scores[2] > 0.98 > 0.95 > max(scores[:2])


def test_free_tree_falls_and_the_monotone_one_does_not(run):
    names = run("monotone")
    free, monotone = (
        np.diff(names["models"][name].predict(names["line"])) for name in ("free", "monotone"))
    assert free.min() < 0 < free.max()
    assert monotone.min() >= 0
    assert names["is_monotone"](names["models"]["monotone"].tree_, [1, 1])[0]
    below, above = names["free"].tree_.predict(names["pair"])
    assert (names["pair"][0] <= names["pair"][1]).all()
    assert below > above


def test_three_lines_follow_the_truth_best(run):
    names = run("model_tree")
    truth = names["truth"](names["line"][:, 0])
    *forests, tree = (np.abs(model.predict(names["line"]) - truth).mean()
                      for model in names["models"].values())
    assert names["models"]["model tree"].get_n_leaves() == 3
    assert tree < min(forests)


def test_outlier_moves_tree_least(run):
    names = run("outlier")
    moved = np.array([
        [np.abs(np.subtract(*(line.get_ydata() for line in ax.get_lines()[-2:]))) for ax in row]
        for row in names["axes"]])
    linear, forest, tree = np.moveaxis(moved, 1, 0)      # with a wrong target, a wrong feature
    assert (np.median(linear, axis=1) > 40).all()
    assert forest[0].max() > 200
    assert np.quantile(tree, 0.9) < 25
    assert tree[0].max() < 100


def test_database_predicts_as_the_tree(run):
    names = run("sql")
    assert (names["predicted"] == names["tree"].predict(names["X"])).all()
    plane = names["painted"][list(names["X"])]
    assert (names["painted"]["prediction"] == names["tree"].predict(plane)).all()
