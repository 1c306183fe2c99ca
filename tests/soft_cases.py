"""Cases of soft training for its tests: a random tree, data and leaves."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from helpers import random_children
from ngdt import Tree
from ngdt._core.samples import Samples
from ngdt._core.scaling import Scaling
from ngdt._core.search import Topology
from ngdt._methods.soft.epoch import LazyTrainer, SoftTrainer
from ngdt._methods.soft.leaf_model import Categorical, LossLeaves
from ngdt._methods.soft.routing import CSRRouting, DenseRouting, SparseRouting
from ngdt.losses import HuberLoss
from reference import soft as naive_soft
from reference.soft import NaiveTrainer

# dense rows as a matrix, and visited one by one; sparse rows, and those without what they lack
ROUTINGS = pytest.mark.parametrize("routing", ["matrix", "visits", "csr", "lazy"])
NOT_LAZY = pytest.mark.parametrize("routing", ["matrix", "visits", "csr"])
# Adam's step is 10 times the gradient: epsilon drowns the second moment.
PLAIN = dict(betas=(0.0, 0.0), epsilon=1e6)
PLAIN_RATE = 1e7
KERNELS = SimpleNamespace(Categorical=Categorical, LossLeaves=LossLeaves)


class AnyLoss(HuberLoss):
    """A loss of another type is called slot by slot, whatever it computes."""


class CaughtUp(LazyTrainer):
    """Brings all weights up to date after each call, so that tests can read them."""

    def epoch(self, *arguments, **options):
        loss = super().epoch(*arguments, **options)
        self.catch_up()
        return loss


class Case:
    """A random tree of any shape, data and leaves."""

    def __init__(self, leaves, seed, *, n=23, p=3, m=9, k=3, centred=True, cutoff=0.0, tree=None,
                 X=None, y=None, loss=None, **options):
        self.random = random = np.random.default_rng(seed)
        self.leaves, self.cutoff, self.options = leaves, cutoff, options
        self.loss, self.slope_penalty = loss or HuberLoss(0.7), 0.02
        self.tree = tree or Tree(
            random.normal(size=(m, p)), random.normal(size=m), *random_children(random, m),
            random.normal(size=(m + 1, k)))
        m, k, p = self.tree.n_internal, self.tree.n_outputs, self.tree.n_features
        self.X = random.normal(size=(n, p)) if X is None else X
        self.n = self.X.shape[0]
        if y is not None:
            self.y = y
        elif leaves == "categorical":
            self.y = random.integers(0, k, (self.n, 1)).astype(float)
        else:
            self.y = random.normal(size=(self.n, k))
        self.weight = random.choice([0.5, 1.0, 2.0], self.n)
        self.scaling = Scaling(
            np.linspace(-0.5, 0.5, p) if centred else np.zeros(p), np.linspace(0.5, 2, p))
        weights, thresholds = self.scaling.to_scaled(
            self.tree.dense_weights(), self.tree.thresholds)
        self.weights = np.column_stack([weights, -thresholds]).astype(np.float32)
        self.prior = softmax(random.normal(size=k))
        self.prior_weight = 0.01
        self.parameters = self.tree.values.astype(np.float32)
        if leaves == "categorical":
            self.parameters = softmax(self.parameters, axis=1)
        elif leaves in ("constant", "linear"):
            columns = p + 1 if leaves == "linear" else 1
            self.parameters = random.normal(size=((m + 1) * k, columns)).astype(np.float32)

    def model(self, modules, *batch_size):
        if self.leaves in ("constant", "linear"):
            return modules.LossLeaves(
                self.parameters.copy(), self.y, self.loss, self.slope_penalty, *batch_size)
        arguments = self.parameters.copy(), self.y, self.prior, self.prior_weight, *batch_size
        return modules.Categorical(*arguments)

    def kernel(self, routing, batch_size, n_threads=1, lazy=CaughtUp):
        """Trainer, weights and model, which it changes in place."""
        weights, model = self.weights.copy(), self.model(KERNELS, batch_size)
        X = self.X if routing in ("matrix", "visits") else sparse.csr_array(self.X)
        others = model, Samples(X), self.scaling, batch_size
        if routing == "lazy":
            weights = np.ascontiguousarray(weights.T)
            route = CSRRouting(Topology(self.tree), weights, *others)
            trainer = lazy(route, self.weight, n_threads=n_threads, **self.options)
            return trainer, weights.T, model
        arguments = Topology(self.tree), weights, *others
        route = (DenseRouting(*arguments) if routing == "matrix"
                 else SparseRouting(*arguments, self.cutoff))
        trainer = SoftTrainer(route, self.weight, n_threads=n_threads, **self.options)
        return trainer, weights, model

    def naive(self, penalty=0.0):
        options = {name: value for name, value in self.options.items()
                   if name not in ("spatial_penalty", "neighbour")}
        return NaiveTrainer(
            self.tree, self.weights, self.model(naive_soft), self.X, self.weight, self.scaling,
            cutoff=self.cutoff, penalty=penalty, **options)

    def order(self):
        return self.random.permutation(self.n).astype(np.int32)


def case_for(routing, leaves, seed, **parameters):
    # Sparse rows are not centred, and the matrix product has no cutoff.
    return Case(leaves, seed, centred=routing in ("matrix", "visits"), **parameters)


def schedule(*columns):
    """Gamma, rate, keep and leaf rate per step."""
    return tuple(np.atleast_1d(np.array(column, dtype=float)) for column in columns)


def still(gamma):
    """One step that changes nothing."""
    return schedule(gamma, 0.0, 1.0, 0.0)


def likelihoods(case, routing, gamma):
    """Likelihood of each sample; for the log loss."""
    case.options |= dict(refit_every_step=False)
    trainer, _, _ = case.kernel(routing, 1)
    return np.exp([
        -trainer.epoch(np.array([i], dtype=np.int32), *still(gamma)) for i in range(case.n)])


def gradient(case, routing, gamma, batch=None):
    """Gradient, from one step of `PLAIN` Adam."""
    case.options |= PLAIN
    batch = np.arange(case.n, dtype=np.int32) if batch is None else batch
    trainer, weights, _ = case.kernel(routing, len(batch))
    trainer.epoch(batch, *schedule(gamma, PLAIN_RATE, 1.0, 0.0))
    return (case.weights.astype(np.float64) - weights) / 10


def assert_close(kernel, reference, tolerance=2e-5):
    np.testing.assert_allclose(
        kernel, reference, rtol=tolerance, atol=tolerance * np.abs(reference).max())
