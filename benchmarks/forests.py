r"""Forests of this package against other ensembles.

    python benchmarks/forests.py --output benchmarks/results/forests.csv
    python benchmarks/forests.py --output benchmarks/results/forests.csv --summary \
        --tables docs/user_guide

A CSV line per data set, method and seed. Rows that the file already has are not run again, so a
run that was stopped goes on, and further sets, seeds or methods are added to the file. The last
step, or with --summary the only one, prints means; --tables names a folder for the tables of the
user guide, `forests.csv` and `forests_cost.csv`. One thread is used, and each fit has a process of
its own, which --limit ends; its row then has no score.

- `default`, `fifty`: the forests of this package with default parameters, of 20 and of 50 trees.
- `boosted`: two such forests, of 50 trees together, one trained on what the other misses. Only for
  regression.
- `random_forest`, `extra_trees`: those of scikit-learn, of 500 trees.
- `boosting`, `lightgbm`: by histograms, of scikit-learn and of LightGBM (`pip install
  ".[benchmarks]"`). At most 1000 rounds; the last 10 did not lower the loss on a tenth of the
  training samples.

Other parameters have their defaults. Data sets have their official test samples or, without them,
those of the seed; `letter_10500` is Letter without the rows that were meant for validation.
"""

import argparse
import multiprocessing
import pickle
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from data import CLASSIFICATION, REGRESSION, classification, regression
from rows import add_rows
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from ngdt import ObliqueBoostingRegressor, ObliqueForestClassifier, ObliqueForestRegressor

KEYS = ["data", "method", "seed"]
FIGURES = ["score", "seconds", "nbytes", "microseconds_batch", "microseconds_row", "trees"]
METHODS = ("fifty", "default", "boosted", "random_forest", "extra_trees", "boosting", "lightgbm")
# Small ones first.
DATA = ("segment", "satimage", "abalone", "pendigits", "ailerons", "cpu_act", "usps",
        "letter_10500", "letter", "connect4", "fashion_mnist", "mnist")
MISSING = "–"
# How the user guide calls all these, and the factors and digits of their costs.
SEEDS = 0, 1, 2
COLUMNS = dict(zip(METHODS, (
    "50 trees", "20 trees", "Two forests", "Random forest", "Extra trees", "Boosting", "LightGBM"),
    strict=True))
TITLES = {
    "segment": "Segment", "satimage": "SatImage", "pendigits": "Pendigits", "usps": "USPS",
    "letter_10500": "Letter, 10 500", "letter": "Letter", "connect4": "Connect4",
    "fashion_mnist": "Fashion-MNIST", "mnist": "MNIST"}
COSTS = {
    "seconds": ("Seconds to train", 1.0), "nbytes": ("MB", 1e-6),
    "microseconds_batch": ("Microseconds a row, of all test rows", 1.0),
    "microseconds_row": ("Microseconds for one row", 1.0)}
N_LETTER = 10_500
# Rounds of boosting at most, and without improvement.
MAX_ROUNDS, PATIENCE = 1000, 10
# Calls for the time of a prediction for one sample, and for all of them.
N_CALLS, N_PASSES = 30, 3


def load(name, seed):
    """Training and test samples. Targets of regression are standardised, with the unit."""
    if name in REGRESSION:
        X, y, X_test, y_test = regression(name, seed)
        center, unit = y.mean(), y.std()
        return X, (y - center) / unit, X_test, (y_test - center) / unit, unit
    X, y, X_test, y_test = classification(name.removesuffix(f"_{N_LETTER}"), seed)
    if name != "letter" and name not in CLASSIFICATION:
        X, y = X[:N_LETTER], y[:N_LETTER]
    return X, y, X_test, y_test, None


def fitted(method, X, y, seed):
    """A trained model."""
    classify = y.dtype.kind == "i"

    def choose(classifier, regressor, *n_trees, **parameters):
        return (classifier if classify else regressor)(*n_trees, random_state=seed, **parameters)

    if method == "lightgbm":
        return lightgbm(choose, X, y, seed)
    if method == "boosting":
        model = choose(HistGradientBoostingClassifier, HistGradientBoostingRegressor,
                       max_iter=MAX_ROUNDS, early_stopping=True, n_iter_no_change=PATIENCE)
    elif method == "boosted":
        model = ObliqueBoostingRegressor(random_state=seed)
    elif method == "random_forest":
        model = choose(RandomForestClassifier, RandomForestRegressor, 500)
    elif method == "extra_trees":
        model = choose(ExtraTreesClassifier, ExtraTreesRegressor, 500)
    else:
        model = choose(ObliqueForestClassifier, ObliqueForestRegressor,
                       50 if method == "fifty" else 20)
    return model.fit(X, y)


def lightgbm(choose, X, y, seed):
    """LightGBM, which needs the samples that tell it when to stop."""
    import lightgbm
    X, X_stop, y, y_stop = train_test_split(
        X, y, test_size=0.1, random_state=seed, stratify=y if y.dtype.kind == "i" else None)
    model = choose(lightgbm.LGBMClassifier, lightgbm.LGBMRegressor,
                   n_estimators=MAX_ROUNDS, n_jobs=1, verbose=-1)
    return model.fit(X, y, eval_X=X_stop, eval_y=y_stop,
                     callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)])


def seconds(call):
    """CPU time, which other programs disturb less than wall time."""
    start = time.process_time()
    call()
    return time.process_time() - start


def trees(model):
    """How many trees of which kind a forest has, or the number of rounds of boosting."""
    if hasattr(model, "candidates_"):
        names, counts = model.candidates_["candidate"], model.candidates_["n_trees"]
        return " + ".join(f"{n} {name}" for name, n in zip(names, counts, strict=True) if n)
    if isinstance(model, ObliqueBoostingRegressor):
        return " and ".join(f"({trees(each)})" for each in model.estimators_)
    if hasattr(model, "estimators_"):
        return len(model.estimators_)
    return model.best_iteration_ if hasattr(model, "best_iteration_") else model.n_iter_


def measure(name, method, seed):
    """The figures of a row."""
    X, y, X_test, y_test, unit = load(name, seed)
    with threadpool_limits(1):
        start = time.process_time()
        model = fitted(method, X, y, seed)
        fit = time.process_time() - start
        predicted = model.predict(X_test)
        batch = min(seconds(lambda: model.predict(X_test)) for _ in range(N_PASSES))
        row = np.median([seconds(lambda i=i: model.predict(X_test[i:i + 1]))
                         for i in range(N_CALLS)])
    score = 100 * np.mean(predicted == y_test) if unit is None else (
        unit * np.sqrt(np.mean((predicted - y_test) ** 2)))
    return {"score": score, "seconds": fit, "nbytes": len(pickle.dumps(model)),
            "microseconds_batch": 1e6 * batch / len(X_test), "microseconds_row": 1e6 * row,
            "trees": trees(model)}


def within(limit, *arguments):
    """What `measure` returns, from a process of its own; only the limit if that takes longer."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(measure, arguments).get(limit)
        except multiprocessing.TimeoutError:
            return {"seconds": limit}


def run(options, done):
    """Rows that are not done yet."""
    for name in options.data:
        for seed in options.seeds:
            for method in options.methods:
                has_method = method != "boosted" or name in REGRESSION
                if has_method and (name, method, str(seed)) not in done:
                    yield {"data": name, "method": method, "seed": seed,
                           **within(options.limit, name, method, seed)}


def summarize(path):
    """Print the mean of each figure over the seeds, and return them by their names.

    Data sets are rows, methods columns. Fits that were ended are left out.
    """
    groups = pd.read_csv(path).drop(columns="trees").dropna().groupby(KEYS[:2])
    found = {"seeds": groups["score"].count()} | {
        figure: groups[figure].mean() for figure in FIGURES[:-1]}
    for figure, values in found.items():
        found[figure] = table = values.unstack().reindex(index=DATA, columns=METHODS)
        print(f"\n{figure}\n", table.to_string(float_format="{:.5g}".format))
    return found


def write_tables(found, folder):
    """Write what `summarize` returns as the tables of the user guide: scores and costs."""
    scores, costs = [], []
    for name in DATA:
        scores.append({"Data": TITLES.get(name, name), **scores_of(
            name, found["score"].loc[name], found["seeds"].loc[name])})
    for figure, (title, unit) in COSTS.items():
        for name, means in found[figure].iterrows():
            costs.append({"Cost": title, "Data": TITLES.get(name, name)} | {
                column: three_digits(unit * means[method]) for method, column in COLUMNS.items()})
            title = ""
    for file, rows in (("forests.csv", scores), ("forests_cost.csv", costs)):
        pd.DataFrame(rows).to_csv(
            Path(folder) / file, index=False, encoding="utf-8")


def scores_of(name, means, seeds):
    """Cells of a row: the best in bold, the number of seeds in brackets where some are missing."""
    texts = {method: score_text(name, mean) for method, mean in means.items()}
    best = texts[means.idxmin() if name in REGRESSION else means.idxmax()]
    cells = {}
    for method, text in texts.items():
        missing = "" if seeds[method] in (0, len(SEEDS)) or text == MISSING else (
            f" [{seeds[method]:.0f}]")
        cells[COLUMNS[method]] = f"**{text}{missing}**" if text == best else text + missing
    return cells


def score_text(name, score):
    if np.isnan(score):
        return MISSING
    if name not in REGRESSION:
        return f"{score:.1f}"
    return f"{score:.3f}" if score > 1e-2 else f"{score:.3e}".replace("e-0", "e-")


def three_digits(value):
    """A number without the exponent that Python would write."""
    if np.isnan(value):
        return MISSING
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="forests.csv")
    parser.add_argument("--data", nargs="*", choices=DATA, default=DATA)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=METHODS)
    parser.add_argument("--seeds", nargs="*", type=int, default=list(SEEDS))
    parser.add_argument("--limit", type=float, default=3600, help="seconds for a fit")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    parser.add_argument("--tables", help="folder for the tables of the user guide")
    options = parser.parse_args()
    if not options.summary:
        for row in add_rows(options.output, KEYS + FIGURES, KEYS, partial(run, options)):
            print(*row.values(), file=sys.stderr)
    found = summarize(options.output)
    if options.tables is not None:
        write_tables(found, options.tables)


if __name__ == "__main__":
    main()
