"""Test accuracy of single trees by initializer, optimizer and depth, on dense data.

`methods` and `soft` train each optimizer by itself from each initial tree, with a tenth of the
training samples for validation, and without a comparison with the baseline. `annealed` has three
seeds on each of three data splits. `tao_ssgd` chooses C on a fifth of the training samples. The
test samples are used once for each.
"""

import time
from functools import partial

import numpy as np
from sklearn.base import is_classifier

from benchmarks.data import CLASSIFICATION, REGRESSION, split
from benchmarks.fitting import Fit
from benchmarks.models import TAO_L2
from benchmarks.runner import Benchmark
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._training.folds import hold_out
from ngdt._training.problem import Problem
from ngdt.initializers import CO2, InfoGain, RandomComplete, SoftGreedy
from ngdt.losses import LogLoss
from ngdt.optimizers import SGD, SSGD, TAO, Annealed, EndToEnd

FIELDS = ("init", "method", "test", "seconds", "leaves", "baseline_kept")


def defaults(depth, seed):
    """The default estimator, SSGD, and the greedy tree on all training samples."""
    return {("auto", method): ObliqueTreeClassifier(depth, optimizer=optimizer, random_state=seed)
            for method, optimizer in (("greedy", None), ("ssgd", "ssgd"), ("default", "auto"))}


def regression(depth, seed):
    """As `defaults`, for regression: root mean squared errors, also for each kind of leaves."""
    return {("auto", method): ObliqueTreeRegressor(depth, random_state=seed, **parameters)
            for method, parameters in (
                ("greedy", {"optimizer": None}), ("default", {}),
                ("constant", {"leaf": "constant"}), ("linear", {"leaf": "linear"}))}


def annealed(depth, seed):
    return {("random_complete", "annealed"): ObliqueTreeClassifier(
        depth, init="random_complete", optimizer=Annealed(), random_state=seed)}


def classics(depth, seed):
    """Greedy trees with axis-aligned and with oblique splits, on all training samples."""
    return {(init, "greedy"): ObliqueTreeClassifier(
        depth, init=init, optimizer=None, random_state=seed)
        for init in ("info_gain", "random_oblique", "oc1")}


def _fits(estimators, seeds_per_split, data, depth, seed):
    X, y, *test = split(data, seed // seeds_per_split)
    for (init, method), estimator in estimators(depth, seed).items():
        yield _row(init, method, Fit.of(estimator, X, y), *test)


def _row(init, method, fit, X_test, y_test):
    model = fit.model
    score = 100 * model.score(X_test, y_test) if is_classifier(model) else (
        float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))))
    return {"init": init, "method": method, "test": score, "seconds": fit.seconds,
            "leaves": model.tree_.n_leaves,
            "baseline_kept": model.baseline_kept_ if init == "auto" else ""}


def tao_ssgd(data, depth, seed):
    """TAO from a greedy tree with either penalty, SSGD, and SSGD from the result of TAO."""
    X, y, *test = split(data, seed)
    weight, validation = hold_out(np.ones(len(y)), 0.2, y, seed)

    def fit(optimizer, init="info_gain"):
        tree = ObliqueTreeClassifier(
            depth, init=init, optimizer=[optimizer], validation_fraction=0, random_state=seed)
        begin = time.process_time()
        tree.fit(X, y, weight)
        return Fit(tree, time.process_time() - begin)

    def best(method, fits):
        return _row("info_gain", method, max(
            fits, key=lambda fit: fit.model.score(X, y, validation)), *test)

    yield best("ssgd", [fit(SSGD())])
    chains = []
    for penalty, costs in (("l1", (0.01, 0.03, 0.1, 0.3)), ("l2", TAO_L2)):
        fits = [fit(TAO(C, penalty=penalty)) for C in costs]
        yield best(f"tao_{penalty}", fits)
        for first in fits:
            second = fit(SSGD(), first.model.tree_)
            chains.append(Fit(second.model, first.seconds + second.seconds))
    yield best("tao_ssgd", chains)


def methods(data, depth, seed):
    """Each initial tree, and each optimizer from it."""
    optimizers = {"sgd": SGD(), "ssgd_navigate": SSGD(assignment="navigate", renew="epoch"),
                  "ssgd_best": SSGD()}
    yield from _chains(data, depth, seed, {
        ("info_gain", InfoGain()): optimizers, ("co2", CO2()): optimizers})


def soft(data, depth, seed):
    """The optimizers with soft decisions. Random splits alone are not evaluated."""
    yield from _chains(data, depth, seed, {
        ("soft_greedy", SoftGreedy()): {"end_to_end": EndToEnd()},
        ("random_complete", RandomComplete()): {
            "end_to_end": EndToEnd(), "annealed": Annealed()}})


def _chains(data, depth, seed, chains):
    """Trees of initializers and, of each, those of optimizers, which have no baseline to beat."""
    X, y, X_test, y_test = split(data, seed)
    loss, k = LogLoss(), int(y.max()) + 1
    weight, validation = hold_out(np.ones(len(y)), 0.1, y, seed)
    problem = Problem(
        X, loss.encode(y, k), loss, k, weight, validation, random_state=seed).limited(
            max_depth=depth)

    def row(init, method, make):
        begin = time.process_time()
        tree = make()
        seconds = time.process_time() - begin
        test = 100 * np.mean(tree.predict(X_test).argmax(axis=1) == y_test)
        return tree, {"init": init, "method": method, "test": test, "seconds": seconds,
                      "leaves": tree.n_leaves, "baseline_kept": ""}

    for (name, init), optimizers in chains.items():
        initial, found = row(name, "greedy", partial(init.initialize, problem))
        if name != "random_complete":
            yield found
        for method, optimizer in optimizers.items():
            yield row(name, method, lambda each=optimizer, tree=initial: each.optimize(
                tree, problem).tree)[1]


# Depths of the published results, and those of all sets.
PUBLISHED = {"mnist": (8,), "connect4": (8,), "letter": (10,), "pendigits": (8,),
             "satimage": (6,), "segment": (8,)}
ALL = dict.fromkeys(CLASSIFICATION, (6, 10, 14))


def _benchmark(name, about, run, depths, n_seeds=3):
    def jobs(quick):
        if quick:
            return [{"data": "diabetes" if name == "regression" else "iris", "depth": 2, "seed": 0}]
        return [{"data": data, "depth": depth, "seed": seed} for seed in range(n_seeds)
                for data in depths for depth in depths[data]]

    return Benchmark(name, about, ("data", "depth", "seed"), FIELDS, jobs, run)


DEFAULTS = _benchmark(
    "defaults", "the default classifier, SSGD and the greedy tree",
    partial(_fits, defaults, 1),
    {data: (6 if data == "satimage" else 10,) for data in ALL})
REGRESSORS = _benchmark(
    "regression", "the default regressor, and each kind of leaves", partial(_fits, regression, 1),
    dict.fromkeys(REGRESSION, (8,)), n_seeds=5)
CHAINS = _benchmark(
    "methods", "SGD and stable SGD from greedy trees and from those of CO2", methods, ALL)
SOFT = _benchmark("soft", "the optimizers with soft decisions", soft, PUBLISHED)
ANNEALED = _benchmark(
    "annealed", "annealed soft training, on three data splits", partial(_fits, annealed, 3),
    PUBLISHED, n_seeds=9)
CLASSICS = _benchmark(
    "classics", "greedy trees with axis-aligned, random and OC1 splits",
    partial(_fits, classics, 1), dict.fromkeys(("pendigits", "letter"), (8,)))
TAO_SSGD = _benchmark(
    "tao_ssgd", "TAO, and stable SGD after it", tao_ssgd,
    {**PUBLISHED, "letter": (10, 12, 14), "pendigits": (8, 10)})
