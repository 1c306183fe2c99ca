"""Kernel splits: trees in the features of a kernel, by the number of components.

The outlook of Norouzi et al. (2015) names kernels. A split that is linear in the features of a
kernel is a kernel machine. The Gaussian kernel is approximated by Nystroem's method or by random
Fourier features; "span" has the kernel with every training sample as a feature, of which TAO with
an l1 penalty keeps some. The width of the kernel is chosen on validation samples.
"""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import split
from benchmarks.figures import accuracy_by_components
from benchmarks.fitting import Fit, chosen
from benchmarks.models import tree
from benchmarks.runner import Benchmark
from ngdt.optimizers import TAO, Annealed

DEPTHS = {"segment": 6, "pendigits": 6, "usps": 6, "letter": 8, "digits": 4}
COMPONENTS = (32, 128, 512)
# Widths of the kernel, gamma times the number of features, and C of TAO.
GAMMAS, SPAN_GAMMAS, SPAN_COSTS = (0.1, 0.3, 1.0), (0.3, 1.0), (0.1, 1.0)


class Span(TransformerMixin, BaseEstimator):
    """The Gaussian kernel with each training sample."""

    def __init__(self, gamma):
        self.gamma = gamma

    def fit(self, X, y=None):
        self.X_ = X
        return self

    def transform(self, X):
        return rbf_kernel(X, self.X_, self.gamma)


def candidates(data, kernel, components, seed, p):
    """Pipelines by the width of the kernel, and by C."""
    depth = DEPTHS[data]
    if kernel == "linear":
        return {"": make_pipeline(StandardScaler(), tree(
            depth, seed, "random_complete", Annealed()))}
    if kernel == "span":
        return {f"gamma={gamma:g}/p C={C:g}": make_pipeline(
            StandardScaler(), Span(gamma / p), tree(
                depth, seed, "info_gain", TAO(C, penalty="l1")))
            for gamma in SPAN_GAMMAS for C in SPAN_COSTS}
    features = Nystroem if kernel == "nystroem" else RBFSampler
    return {f"gamma={gamma:g}/p": make_pipeline(
        StandardScaler(),
        features(gamma=gamma / p, n_components=components, random_state=seed),
        tree(depth, seed, "random_complete", Annealed())) for gamma in GAMMAS}


def jobs(quick):
    if quick:
        return [{"data": "digits", "kernel": "nystroem", "components": 16, "seed": 0}]
    return [{"data": data, "kernel": kernel, "components": components, "seed": seed}
            for seed in (0,) for data in ("segment", "pendigits", "usps", "letter")
            for kernel, number in (("linear", (0,)), ("nystroem", COMPONENTS),
                                   ("fourier", COMPONENTS), ("span", (0,)))
            for components in number if kernel != "span" or data == "segment"]


def run(data, kernel, components, seed):
    X, y, X_test, y_test = split(data, seed)
    found = candidates(data, kernel, components, seed, X.shape[1])
    name, model, validation, _ = chosen(found, X, y, seed)
    fit = Fit.of(model, X, y)
    fitted = fit.model[-1].tree_
    weights = fitted.densify().weights
    return [{
        "chosen": name, "validation": validation, "train": 100 * fit.model.score(X, y),
        "test": 100 * fit.model.score(X_test, y_test), "seconds": fit.seconds,
        "leaves": fitted.n_leaves, "nonzeros": fitted.n_nonzero,
        "used": int(np.count_nonzero(weights.any(axis=0)))}]


BENCHMARK = Benchmark(
    "kernels", "kernel splits, by the number of components (outlook of Norouzi 2015)",
    ("data", "kernel", "components", "seed"),
    ("chosen", "validation", "train", "test", "seconds", "leaves", "nonzeros", "used"),
    jobs, run, accuracy_by_components)
