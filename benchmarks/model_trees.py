"""Trees with linear leaves of four levels, and the default, beside published model trees.

The eight data sets and the five splits of each are those that CLARITree was measured on:

- `greedy`: `init="model_tree", optimizer=None`, `max_depth=4`, the tree before it is trained.
- `linear`: `leaf="linear"`, `max_depth=4`, which chooses between this and trained trees.
- `default` and `constant`: `ObliqueTreeRegressor()`, and with `leaf="constant"`.
- `linear_tree`: `LinearTreeRegressor(LinearRegression(), max_depth=4)` of the package linear-tree,
  which needs scikit-learn 1.6.
- `lightgbm`: `LGBMRegressor(linear_tree=True)`, boosting of 100 trees with linear leaves.

A method whose package is not installed is left out. Nothing is tuned. `PUBLISHED` has figures of
other authors for the same splits: Wang et al., "CLARITree", ICML 2026.
"""

import warnings
from importlib.util import find_spec

import pandas as pd
from sklearn.linear_model import LinearRegression

from benchmarks.data import split
from benchmarks.fitting import seconds_of
from benchmarks.models import chosen, make, n_leaves
from benchmarks.runner import Benchmark, write_table
from benchmarks.small_trees import sizes

TREES = {"greedy": {"init": "model_tree", "optimizer": None, "max_depth": 4},
         "linear": {"leaf": "linear", "max_depth": 4}, "default": {},
         "constant": {"leaf": "constant"}}
# Modules of others.
PACKAGES = {"linear_tree": "lineartree", "lightgbm": "lightgbm"}
N_SPLITS = 5
# R² of trees with linear leaves, the first three of four levels, and of the best tree with constant
# leaves and five levels by any of six methods.
PEERS = ("CLARITree", "CLARITree, greedy", "STreeD", "PILOT", "GUIDE", "M5", "best constant")
PUBLISHED = {
    "airfoil": (.8699, .8599, .8727, .5123, .8137, .5405, .673),
    "auction": (.9295, .9183, .9363, .8545, .9284, .8712, .924),
    "insurance": (.8609, .8613, .8611, .8349, .8575, .8395, .841),
    "optical_net": (.9038, .9071, .8585, .7062, .7982, .7412, .827),
    "seoul_bike": (.7191, .6991, .6930, .5387, .6862, .5979, .669),
    "servo": (.4848, .4848, .5114, .5159, .4871, .4637, .465),
    "walmart": (.2097, .1868, .2165, .0202, .1768, .0992, .177),
    "yacht": (.9959, .9956, .9958, .8697, .9963, .9898, .992)}
# Of each file: ours with their titles, and others.
TABLES = {
    "model_trees_table": ({"greedy": "model_tree", "linear": 'leaf="linear"'},
                          (*PEERS[:-1], "linear_tree")),
    "model_trees_default": ({"default": "Default", "constant": 'leaf="constant"'},
                            ("CLARITree", "best constant", "lightgbm"))}
LABELS = {"linear_tree": "linear-tree", "lightgbm": "LightGBM, 100 trees",
          "best constant": "Best with constant leaves"}


def jobs(quick):
    if quick:
        return [{"data": "diabetes", "seed": 0, "method": method} for method in TREES]
    return [{"data": name, "seed": seed, "method": method} for seed in range(N_SPLITS)
            for name in PUBLISHED for method in (*TREES, *PACKAGES)]


def run(data, seed, method):
    """R² on the test samples of the split with the number `seed`."""
    if method in PACKAGES and not find_spec(PACKAGES[method]):
        warnings.warn(
            f"{method} was left out: {PACKAGES[method]} is not installed", stacklevel=1)
        return []
    X, y, X_test, y_test = split(data if data not in PUBLISHED else f"model_trees/{data}", seed)
    model = make("tree", X, y, 0, **TREES[method]) if method in TREES else of_package(method)
    seconds = seconds_of(lambda: model.fit(X, y))
    is_other_tree = method == "linear_tree"
    return [{"n_train": len(y), "n_features": X.shape[1], "score": model.score(X_test, y_test),
             "leaves": len(model.summary(only_leaves=True)) if is_other_tree else n_leaves(model),
             "weights": sizes(model)["weights"], "seconds": seconds, "chosen": chosen(model)}]


def of_package(method):
    if method == "linear_tree":
        from lineartree import LinearTreeRegressor
        return LinearTreeRegressor(LinearRegression(), max_depth=4)
    from lightgbm import LGBMRegressor
    return LGBMRegressor(linear_tree=True, n_jobs=1, verbose=-1, random_state=0)


def report(rows, folder):
    """Write both tables, and print the means and on how many sets ours is better than each peer."""
    published = pd.DataFrame.from_dict(PUBLISHED, "index", columns=PEERS)
    scores = by_data(rows, "score").join(published)
    print(scores.mean().round(4).to_string())
    for method in scores.columns.intersection(TREES):
        print(method, "is better than", {
            peer: int((scores[method] > scores[peer]).sum()) for peer in scores if peer != method})
    for file, (own, others) in TABLES.items():
        lines = lines_of(rows, with_mean(scores).round(3), own, others)
        write_table(lines, folder, file)


def by_data(rows, column):
    return rows.pivot_table(column, "data", "method", sort=False)


def with_mean(table):
    return pd.concat([table, table.mean().to_frame("mean").T])


def lines_of(rows, scores, own, others):
    """A line for each data set and one for the mean, the best score in bold."""
    leaves, seconds = (with_mean(by_data(rows, column)) for column in ("leaves", "seconds"))
    shape = rows.groupby("data")[["n_train", "n_features"]].max()
    shown = scores.columns.intersection([*own, *others])
    for name, line in scores.iterrows():
        text = {each: f"**{line[each]:.3f}**" if line[each] == line[shown].max()
                else f"{line[each]:.3f}" for each in shown}
        yield {"Data": name.replace("_", " "),
               "Rows × features": " × ".join(map(str, shape.loc[name])) if name in shape.index
               else "",
               **{title: cell for method, label in own.items() for title, cell in (
                   (label, text[method]),
                   (f"{label}: leaves", f"{leaves.loc[name, method]:.0f}"),
                   (f"{label}: s", f"{seconds.loc[name, method]:.2f}"))},
               **{LABELS.get(each, each): text[each] for each in others if each in text}}


BENCHMARK = Benchmark(
    "model_trees", "trees with linear leaves beside published ones",
    ("data", "seed", "method"),
    ("n_train", "n_features", "score", "leaves", "weights", "seconds", "chosen"),
    jobs, run, report)
