"""Forests of this package beside other ensembles.

- `default`, `fifty`: the forests of this package with default parameters, of 20 and of 50 trees.
- `boosted`: two such forests, of 50 trees together, one trained on what the other misses. Only for
  regression.
- `random_forest`, `extra_trees`: those of scikit-learn, of 500 trees.
- `boosting`, `lightgbm`: by histograms, of scikit-learn and of LightGBM (`pip install
  ".[benchmarks]"`). At most 1000 rounds; the last 10 did not lower the loss on a tenth of the
  training samples.

Other parameters have their defaults. `letter_10500` is Letter without the rows that were meant for
validation.
"""

import pickle
from importlib.util import find_spec

import numpy as np

from benchmarks.data import REGRESSION, TITLES, split
from benchmarks.fitting import latency, seconds_of
from benchmarks.models import MAX_ROUNDS, PATIENCE, chosen, make
from benchmarks.runner import Benchmark, write_table

LETTER = "letter_10500"
# Small ones first.
DATA = ("segment", "satimage", "abalone", "pendigits", "ailerons", "cpu_act", "usps", LETTER,
        "letter", "connect4", "fashion_mnist", "mnist")
NAMES = {**TITLES, LETTER: "Letter, 10 500"}
# How the user guide calls the methods, their models and parameters.
METHODS = {
    "fifty": ("50 trees", "forest", {"n_estimators": 50}),
    "default": ("20 trees", "forest", {"n_estimators": 20}),
    "boosted": ("Two forests", "boosted forest", {}),
    "random_forest": ("Random forest", "random forest", {"n_estimators": 500}),
    "extra_trees": ("Extra trees", "extra trees", {"n_estimators": 500}),
    "boosting": ("Boosting", "boosting", {
        "max_iter": MAX_ROUNDS, "early_stopping": True, "n_iter_no_change": PATIENCE}),
    "lightgbm": ("LightGBM", "lightgbm", {}),
}
FIELDS = "score", "seconds", "nbytes", "microseconds_batch", "microseconds_row", "trees"
# Titles and factors of the costs.
COSTS = {
    "seconds": ("Seconds to train", 1.0), "nbytes": ("MB", 1e-6),
    "microseconds_batch": ("Microseconds a row, of all test rows", 1.0),
    "microseconds_row": ("Microseconds for one row", 1.0)}
MISSING = "–"
N_SEEDS, N_PASSES = 3, 3


def jobs(quick):
    if quick:
        return [{"data": "iris", "method": method, "seed": 0}
                for method in ("default", "boosting")]
    methods = [each for each in METHODS if each != "lightgbm" or find_spec(each)]
    return [{"data": data, "method": method, "seed": seed} for data in DATA
            for seed in range(N_SEEDS) for method in methods
            if method != "boosted" or data in REGRESSION]


def run(data, method, seed):
    """Accuracy or error on test samples, CPU time, and size."""
    X, y, X_test, y_test = split("letter", seed, "strict") if data == LETTER else split(data, seed)
    # Targets of regression are standardised; the error is in their unit.
    center, unit = (y.mean(), y.std()) if data in REGRESSION else (0, None)
    if unit is not None:
        y, y_test = (y - center) / unit, (y_test - center) / unit
    _, name, parameters = METHODS[method]
    model = make(name, X, y, seed, **parameters)
    seconds = seconds_of(lambda: model.fit(X, y))
    model = getattr(model, "best_", model)
    predicted = model.predict(X_test)
    batch = min(seconds_of(lambda: model.predict(X_test)) for _ in range(N_PASSES))
    score = 100 * np.mean(predicted == y_test) if unit is None else (
        unit * np.sqrt(np.mean((predicted - y_test) ** 2)))
    return [{"score": score, "seconds": seconds, "nbytes": len(pickle.dumps(model)),
             "microseconds_batch": 1e6 * batch / len(X_test),
             "microseconds_row": 1e6 * latency(model.predict, X_test), "trees": trees(model)}]


def trees(model):
    """Numbers of trees of each kind in a forest, or the number of rounds of boosting."""
    if hasattr(model, "candidates_"):
        return chosen(model)
    if hasattr(model, "n_iter_"):
        return getattr(model, "best_iteration_", model.n_iter_)
    each = model.estimators_
    return " and ".join(f"({trees(one)})" for one in each) if len(each) == 2 else len(each)


def report(rows, folder):
    """Print means over the seeds, and write the tables of the user guide: scores and costs."""
    groups = rows.groupby(["data", "method"])
    data = [name for name in (*DATA, "iris") if name in set(rows["data"])]
    found = {figure: groups[figure].mean() for figure in ("score", *COSTS)}
    for figure, values in found.items():
        found[figure] = table = values.unstack().reindex(index=data, columns=list(METHODS))
        print(f"\n{figure}\n", table.to_string(float_format="{:.5g}".format))
    scores = [{"Data": NAMES.get(name, name), **scores_of(name, found["score"].loc[name])}
              for name in data]
    costs = []
    for figure, (title, unit) in COSTS.items():
        for name, means in found[figure].iterrows():
            costs.append({"Cost": title, "Data": NAMES.get(name, name)} | {
                column: three_digits(unit * means[method])
                for method, (column, *_) in METHODS.items()})
            title = ""
    for kind, lines in (("scores", scores), ("costs", costs)):
        write_table(lines, folder, f"forests_{kind}")


def scores_of(name, means):
    """Cells of a row, the best in bold."""
    texts = {method: score_text(name, mean) for method, mean in means.items()}
    best = texts[means.idxmin() if name in REGRESSION else means.idxmax()]
    return {METHODS[method][0]: f"**{text}**" if text == best else text
            for method, text in texts.items()}


def score_text(name, score):
    if np.isnan(score):
        return MISSING
    if name not in REGRESSION:
        # The mean of three scores may be just below or above a half, by rounding.
        return f"{round(score, 9):.1f}"
    return f"{score:.3f}" if score > 1e-2 else f"{score:.3e}".replace("e-0", "e-")


def three_digits(value):
    """A number without the exponent that Python would write."""
    if np.isnan(value):
        return MISSING
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


BENCHMARK = Benchmark(
    "forests", "forests beside random forests and boosting", ("data", "method", "seed"), FIELDS,
    jobs, run, report)
