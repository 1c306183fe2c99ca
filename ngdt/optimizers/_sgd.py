"""SGD and Stable SGD on the convex-concave bound: Norouzi et al. (2015), Algorithm 1."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from ngdt._rows import Rows
from ngdt._scaling import Scaling
from ngdt._tree import Tree
from ngdt.inference import _RADIUS
from ngdt.optimizers._base import Optimizer
from ngdt.optimizers._epoch import Trainer

# Rows that estimate the spread of the data: enough for one eigenvalue, cheap for any data set.
_SAMPLE = 5000
_PROBE = 1000  # samples that measure the share with a gradient
_MIN_EPOCHS, _MAX_EPOCHS, _MIN_STEPS = 10, 300, 10_000


class SGD(Optimizer):
    minibatch = True
    _assignment = "navigate"
    _renew = "step"

    def __init__(
        self,
        *,
        inference="fast",
        nu="auto",
        learning_rate=0.1,
        schedule="cosine",
        momentum=0.0,
        batch_size=100,
        epochs="auto",
        leaf_update="gradient",
        leaf_learning_rate="auto",
        theta_limit=12.0,
        norm_limit=1.5,
        patience=None,
    ):
        self.inference = inference
        self.nu = nu
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.momentum = momentum
        self.batch_size = batch_size
        self.epochs = epochs
        self.leaf_update = leaf_update
        self.leaf_learning_rate = leaf_learning_rate
        self.theta_limit = theta_limit
        self.norm_limit = norm_limit
        self.patience = patience

    def improve(self, tree, problem):
        if tree.n_internal == 0:
            return tree, {}
        run = _Run(self, tree, problem)
        run.train()
        return run.best_tree(), run.history


class SSGD(SGD):
    def __init__(
        self,
        *,
        assignment="best",
        renew="step",
        inference="fast",
        nu="auto",
        learning_rate=0.1,
        schedule="cosine",
        momentum=0.0,
        batch_size=100,
        epochs="auto",
        leaf_update="gradient",
        leaf_learning_rate="auto",
        theta_limit=12.0,
        norm_limit=1.5,
        patience=None,
    ):
        super().__init__(
            inference=inference,
            nu=nu,
            learning_rate=learning_rate,
            schedule=schedule,
            momentum=momentum,
            batch_size=batch_size,
            epochs=epochs,
            leaf_update=leaf_update,
            leaf_learning_rate=leaf_learning_rate,
            theta_limit=theta_limit,
            norm_limit=norm_limit,
            patience=patience,
        )
        self.assignment = assignment
        self.renew = renew

    @property
    def _assignment(self):
        return self.assignment

    @property
    def _renew(self):
        return self.renew


class _Run:
    """One training run: the state between epochs."""

    def __init__(self, params, tree, problem):
        self.params, self.tree, self.problem = params, tree, problem
        self.random = np.random.RandomState(problem.random_state)
        self.rows = np.flatnonzero(problem.weight > 0).astype(np.int32)
        self.held_out = (
            None if problem.validation is None
            else np.flatnonzero(problem.validation > 0).astype(np.int32))
        self.scaling = Scaling.fit(problem.X, problem.weight, problem.standardize)
        weights, thresholds = self.scaling.to_scaled(tree)
        norm = np.sqrt((weights**2).sum(axis=1) + thresholds**2)
        norm[norm == 0] = 1.0
        weights = (weights / norm[:, None]).astype(np.float32)
        thresholds = thresholds / norm
        sample = self._sample()
        self.norm_limit, spread = _spread(problem.X[sample], self.scaling, params.norm_limit)
        self.nu = self._nu(sample, spread)
        self.batch_size = int(min(params.batch_size, len(self.rows)))
        self.n_steps = -(-len(self.rows) // self.batch_size)
        self.epochs = params.epochs
        if self.epochs == "auto":
            self.epochs = int(np.clip(-(-_MIN_STEPS // self.n_steps), _MIN_EPOCHS, _MAX_EPOCHS))
        self.rate = params.learning_rate * np.sqrt(self.nu)
        self.leaf_rate, cap = (10.0, np.inf) if problem.loss.is_classifier else (1.0, 0.25)
        if params.leaf_learning_rate != "auto":
            self.leaf_rate = params.leaf_learning_rate
        if params.leaf_update == "closed_form":
            self.leaf_rate = 0.0
        weight = problem.weight / problem.weight[self.rows].mean()
        self.trainer = Trainer(
            tree, weights, thresholds, tree.values.copy(), Rows(problem.X), problem.y, weight,
            self.scaling, problem.loss,
            radius=_RADIUS[params.inference],
            best_assignment=params._assignment == "best",
            norm_limit=self.norm_limit,
            nu=self.nu,
            momentum=params.momentum,
            theta_limit=params.theta_limit,
            theta_cap=cap,
            batch_size=self.batch_size,
            n_threads=problem.n_jobs,
        )
        self._shrink_start(sample)
        self.history = {}
        self.best = None
        self.keep_best()

    def _sample(self):
        """Training rows spread evenly over the data, at most _SAMPLE."""
        step = max(1, len(self.rows) // _SAMPLE)
        return self.rows[::step][:_SAMPLE]

    def _nu(self, sample, spread):
        if self.params.nu != "auto":
            return float(self.params.nu)
        largest = self.problem.loss.extremes(self.tree.values, self.problem.y[sample])[1]
        return max((2.0 * largest.mean() / spread) ** 2, 1e-12)

    def _shrink_start(self, sample):
        """Shrink the rows until enough samples feel a pull.

        Axis-aligned splits of one-hot or integer features keep all samples far from the plane;
        rows of norm 1 then price every flip above any loss, and training stands still.
        """
        order = np.resize(sample, self.batch_size * -(-_PROBE // self.batch_size))
        still = np.zeros(len(order) // self.batch_size)
        norms = [1.0, 0.5, 0.25, 0.125, 0.0625]
        shares = []
        for _ in norms:
            shares.append(self.trainer.epoch(order, still, still)["gradient_share"])
            self.trainer.scale(0.5)
        enough = next(i for i, share in enumerate(shares) if share >= 0.7 * shares[-1])
        self.trainer.scale(norms[enough] / (0.5 * norms[-1]))

    def _decay(self, epoch):
        done = (epoch * self.n_steps + np.arange(self.n_steps)) / (self.epochs * self.n_steps)
        return {
            "constant": np.ones_like,
            "cosine": lambda t: 0.5 * (1 + np.cos(np.pi * t)),
            "inverse_sqrt": lambda t: 1 / np.sqrt(1 + t * self.epochs),
        }[self.params.schedule](done)

    def train(self):
        for epoch in range(self.epochs):
            try:
                self.epoch(epoch)
            except KeyboardInterrupt:
                self.history["interrupted"] = True
                break

    def epoch(self, epoch):
        decay = self._decay(epoch)
        if self.params._renew == "epoch":
            self.trainer.assign(self.rows)
        figures = self.trainer.epoch(
            self.random.permutation(self.rows), self.rate * decay, self.leaf_rate * decay)
        if self.params.leaf_update == "closed_form":
            p = self.problem
            self.trainer.set_leaves(p.loss.fit_leaves(
                self.trainer.assignment[self.rows], p.y[self.rows], p.weight[self.rows],
                self.tree.n_leaves, p.n_outputs))
        figures["validation"] = self.keep_best()
        for key, value in figures.items():
            self.history.setdefault(key, []).append(value)
        if self.problem.verbose:
            print(f"epoch {epoch + 1:4d}/{self.epochs}", {
                k: round(v, 4) for k, v in figures.items()})
        if self.problem.callback is not None:
            self.problem.callback(figures)

    def keep_best(self):
        t = self.trainer
        if self.held_out is None:
            self.best = (0.0, t.weights, t.thresholds, t.values)
            return np.nan
        p = self.problem
        errors = p.errors(t.values[t.navigate(self.held_out)], self.held_out)
        error = np.average(errors, weights=p.validation[self.held_out])
        if self.best is None or error <= self.best[0]:
            self.best = (error, t.weights.copy(), t.thresholds.copy(), t.values.copy())
        return error

    def best_tree(self):
        _, weights, thresholds, values = self.best
        weights, thresholds = self.scaling.to_raw(weights.astype(np.float64), thresholds)
        return Tree(weights, thresholds, self.tree.children_left, self.tree.children_right, values)


def _spread(X, scaling, norm_limit):
    """Norm limit, and the largest standard deviation in any direction, of standardised rows."""
    if sparse.issparse(X):
        X = X.astype(np.float64) @ sparse.diags_array(1.0 / scaling.scale)
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel() + 1.0)
    else:
        X = (X - scaling.center) / scaling.scale
        norms = np.sqrt((X**2).sum(axis=1) + 1.0)
    limit = norm_limit * np.median(norms) if norm_limit is not None else np.inf
    factor = np.minimum(1.0, limit / norms)
    X = sparse.diags_array(factor) @ X if sparse.issparse(X) else X * factor[:, None]
    X = X - np.asarray(X.mean(axis=0)).reshape(1, -1) if not sparse.issparse(X) else X
    n, p = X.shape
    if min(n, p) <= 2:
        top = np.linalg.norm(X.toarray() if sparse.issparse(X) else X, 2)
    else:
        top = svds(X, k=1, v0=np.ones(min(n, p)), return_singular_vectors=False)[0]
    return limit, max(top / np.sqrt(n), 1e-12)
