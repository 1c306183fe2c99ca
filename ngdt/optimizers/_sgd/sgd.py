"""SGD and Stable SGD on the convex-concave bound: Norouzi et al. (2015), Algorithm 1.

The paper gives no batch size, momentum, schedule, number of epochs or rule for re-assignment. The
choices made here are this package's own, and were made on validation data.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.utils._param_validation import Interval, StrOptions

from ngdt._scaling import Scaling
from ngdt.inference import RADIUS
from ngdt.optimizers._base import Optimizer, Progress
from ngdt.optimizers._sgd.epoch import Trainer
from ngdt.problem import standard_errors_saved

# Rows that estimate the spread of the data: enough for one eigenvalue, small for any data set.
_SAMPLE = 2000
# Rows that measure the share of samples with a gradient.
_PROBE = 1000
# Share of samples with a gradient, over that for tiny rows, with which training starts. Dense data
# have 0.99 at norm 1; the one-hot Connect4 has 0.2 to 0.8 there, and stands still.
_ENOUGH = 0.95
_MIN_EPOCHS, _MAX_EPOCHS, _MIN_STEPS, _STEPS_PER_FEATURE = 10, 300, 10_000, 40
_TINY = np.finfo(np.float32).tiny
# Renewal "plateau": relative improvement of the mean bound that counts as none.
_NEGLIGIBLE = 1e-3

_SCHEDULES = {
    # share of the run that is done, number of epochs -> factor
    "constant": lambda done, epochs: np.ones_like(done),
    "cosine": lambda done, epochs: 0.5 * (1.0 + np.cos(np.pi * done)),
    "inverse_sqrt": lambda done, epochs: 1.0 / np.sqrt(1.0 + done * epochs),
}


class SGD(Optimizer):
    """Stochastic gradient descent on the upper bound of the tree's loss.

    Each sample pays the bound of Norouzi et al. (2015), eq. (13) (``inference="fast"``) or eq. (7)
    (``"full"``). The rows of the weights stay in a norm ball of squared radius `nu`, eq. (9), and
    steps touch only the rows whose decisions differ.

    Parameters
    ----------
    inference : {"auto", "fast", "full"}, default="auto"
        Codes that loss-augmented inference looks at: one flip away, or all. Thanks to exact
        pruning both score about as many nodes. "auto" is "fast" for classification, where it was
        up to two points more accurate, and "full" for regression, whose bound is continuous.
    nu : float or "auto", default="auto"
        Largest squared norm of a row of weights together with its threshold, in standardised
        feature space. "auto" is ``(2 * D / sigma) ** 2`` with D the mean over samples of the
        largest leaf loss at the start and sigma the spread of the samples in their widest
        direction: the size at which a flip may cost as much as the worst leaf.
    learning_rate : float or "auto", default="auto"
        Step in units of sqrt(nu); "auto" is 0.1 for classification and 0.03 for regression, whose
        gradients are led by the worst errors.
    schedule : {"cosine", "constant", "inverse_sqrt"}, default="cosine"
        Decay of both learning rates.
    momentum : float in [0, 1), default=0.0
        The velocity of a row waits while no sample touches the row.
    batch_size : int, default=100
    epochs : int or "auto", default="auto"
        "auto" is 10, or as many as make 10 000 steps and 40 per feature, but at most 300.
    leaf_update : {"gradient", "closed_form"}, default="gradient"
        How leaf values learn: by the gradient at the loss-augmented leaf (line 10 of Algorithm 1),
        or after each epoch as the best values for the samples assigned to the leaf.
    leaf_learning_rate : float or "auto", default="auto"
        Step of the leaf values on the mean gradient of the batch; "auto" is 10 for classification
        and 1 for regression.
    leaf_limit : float, default=12.0
        Leaf values are clipped to this size: the log loss of pure leaves has no other bound.
    norm_limit : float or None, default=1.5
        Samples with a norm beyond `norm_limit` times the median are shrunk to it while training. A
        positive factor changes no decision, so that the tree needs no change.
    patience : int or None, default=None
        Epochs without improvement on held-out rows after which to stop; None never stops early.

    Notes
    -----
    Wherever rows are held out, the best tree seen on them is returned, the start included, if it
    leads the last one by more than the standard error of the paired difference.

    Deviation: starting rows are scaled to norm 1, or shrunk by powers of two until the share of
    samples with a gradient is near what it can be; the decisions are the same. Without it,
    axis-aligned splits of one-hot features price all flips out of reach.

    References
    ----------
    Norouzi, Collins, Johnson, Fleet & Kohli (2015), Efficient Non-greedy Optimization of Decision
    Trees, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.optimizers import SGD
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=SGD(epochs=100), random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.9
    True
    """

    minibatch = True
    figures = ("loss", "bound", "gradient_share", "n_scored", "active_leaves", "validation")

    _parameter_constraints: ClassVar[dict] = {
        "inference": [StrOptions({"auto", *RADIUS})],
        "nu": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "schedule": [StrOptions(set(_SCHEDULES))],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "leaf_update": [StrOptions({"gradient", "closed_form"})],
        "leaf_learning_rate": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "leaf_limit": [Interval(Real, 0, None, closed="neither")],
        "norm_limit": [Interval(Real, 0, None, closed="neither"), None],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        inference="auto",
        nu="auto",
        learning_rate="auto",
        schedule="cosine",
        momentum=0.0,
        batch_size=100,
        epochs="auto",
        leaf_update="gradient",
        leaf_learning_rate="auto",
        leaf_limit=12.0,
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
        self.leaf_limit = leaf_limit
        self.norm_limit = norm_limit
        self.patience = patience

    def _assignment(self):
        """Rule and renewal of the assignment; SGD is SSGD that re-assigns at every visit."""
        return "navigate", "step"

    def improve(self, tree, problem):
        """Train; see `Optimizer.improve`.

        Parameters
        ----------
        tree : Tree
        problem : Problem

        Returns
        -------
        tree : Tree
        history : dict
            Per epoch: ``loss`` and ``bound`` (means over the visits, each before the step it led
            to), ``gradient_share`` (samples that move a split; above 0.7 the features or nu are
            too small, below 0.02 the tree is frozen), ``n_scored`` (dot products per sample),
            ``active_leaves``, ``validation`` (mean error on held-out rows).
        """
        if tree.n_internal == 0:
            return tree, {}
        return self._train(tree, problem, Space.measure(problem, self.norm_limit))

    def _train(self, tree, problem, space):
        """`improve` for a tree with splits, in a space that has been measured."""
        run = _Run(self, tree, problem, space)
        run.train()
        return run.best_tree(), run.progress.history


class SSGD(SGD):
    """Stable SGD: each sample holds on to an assigned leaf, Norouzi et al. (2015), eq. (14).

    Parameters
    ----------
    assignment : {"best", "navigate"}, default="best"
        "navigate" assigns each sample to the leaf that it reaches, as the paper does.
        Deviation: "best" assigns it to the leaf with the smallest loss plus price of getting
        there, by cost-diminished inference. Eq. (14) is an upper bound for any assignment, and a
        sample whose own leaf is the worst one gets no gradient at all from Algorithm 1.
    renew : {"step", "epoch", "plateau"} or int, default="step"
        How often assignments are renewed: whenever a sample is visited, before every epoch, before
        every so many epochs, or when the mean bound has stopped to improve (the paper's rule).
        ``assignment="navigate", renew="step"`` is `SGD`.
    inference, nu, learning_rate, schedule, momentum, batch_size, epochs, leaf_update, \
leaf_learning_rate, leaf_limit, norm_limit, patience
        As for `SGD`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.optimizers import SSGD
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=SSGD(epochs=20), random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **SGD._parameter_constraints,
        "assignment": [StrOptions({"best", "navigate"})],
        "renew": [
            StrOptions({"step", "epoch", "plateau"}),
            Interval(Integral, 1, None, closed="left"),
        ],
    }

    def __init__(
        self,
        *,
        assignment="best",
        renew="step",
        inference="auto",
        nu="auto",
        learning_rate="auto",
        schedule="cosine",
        momentum=0.0,
        batch_size=100,
        epochs="auto",
        leaf_update="gradient",
        leaf_learning_rate="auto",
        leaf_limit=12.0,
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
            leaf_limit=leaf_limit,
            norm_limit=norm_limit,
            patience=patience,
        )
        self.assignment = assignment
        self.renew = renew

    def _assignment(self):
        return self.assignment, self.renew


class _Run:
    """One training run: what lives between epochs."""

    def __init__(self, params, tree, problem, space):
        self.params, self.tree, self.problem = params, tree, problem
        self.scaling = space.scaling
        self.rule, self.renew = params._assignment()
        self.random = np.random.RandomState(problem.random_state)
        self.rows, self.held_out = problem.training_rows, problem.held_out_rows
        sample = _sample(self.rows)
        self.nu = self._nu(sample, space.spread)
        self.batch_size = int(min(params.batch_size, len(self.rows)))
        self.n_steps = -(-len(self.rows) // self.batch_size)
        self.epochs = params.epochs
        if self.epochs == "auto":
            steps = max(_MIN_STEPS, _STEPS_PER_FEATURE * problem.X.shape[1])
            self.epochs = int(np.clip(-(-steps // self.n_steps), _MIN_EPOCHS, _MAX_EPOCHS))
        learning_rate = params.learning_rate
        if learning_rate == "auto":
            learning_rate = 0.1 if problem.loss.is_classifier else 0.03
        self.rate = learning_rate * np.sqrt(self.nu)
        self.leaf_rate = self._leaf_rate()
        self.trainer = self._trainer(space.norm_limit)
        self._shrink_start(sample)
        self.progress = Progress(params, problem, self.epochs)
        self.best = None
        self._keep_best()

    def _nu(self, sample, spread):
        if self.params.nu != "auto":
            return float(self.params.nu)
        problem = self.problem
        largest = problem.loss.extremes(self.tree.values, problem.y[sample])[1]
        # Rows of the ball's size fit float32, even where the samples have no spread at all.
        return float(np.clip((2.0 * largest.mean() / spread) ** 2, _TINY, 1.0 / _TINY))

    def _leaf_rate(self):
        if self.params.leaf_update == "closed_form":
            return 0.0
        if self.params.leaf_learning_rate == "auto":
            return 10.0 if self.problem.loss.is_classifier else 1.0
        return float(self.params.leaf_learning_rate)

    def _trainer(self, norm_limit):
        problem, params = self.problem, self.params
        inference = params.inference
        if inference == "auto":
            inference = "fast" if problem.loss.is_classifier else "full"
        weights, thresholds = self.scaling.to_unit_rows(self.tree)
        return Trainer(
            self.tree,
            weights.astype(np.float32),
            thresholds.copy(),
            np.clip(self.tree.values, -params.leaf_limit, params.leaf_limit),
            problem.data,
            problem.y,
            problem.weight / problem.weight[self.rows].mean(),
            self.scaling,
            problem.loss,
            radius=RADIUS[inference],
            best_assignment=self.rule == "best",
            norm_limit=norm_limit,
            nu=self.nu,
            momentum=params.momentum,
            theta_limit=params.leaf_limit,
            # The squared loss has curvature 2: a larger step overshoots the leaf's mean.
            theta_cap=np.inf if problem.loss.is_classifier else 0.25,
            batch_size=self.batch_size,
            n_threads=problem.n_jobs,
        )

    def _shrink_start(self, sample):
        """Shrink the rows until about as many samples feel a gradient as can."""
        order = np.resize(sample, self.batch_size * -(-_PROBE // self.batch_size))
        still = np.zeros(len(order) // self.batch_size)
        sizes = [1.0, 0.5, 0.25, 0.125, 0.0625]
        shares = []
        for size in sizes:
            self.trainer.scale(size if size == 1.0 else 0.5)
            shares.append(self.trainer.epoch(order, still, still)["gradient_share"])
        enough = next(i for i, share in enumerate(shares) if share >= _ENOUGH * shares[-1])
        self.trainer.scale(sizes[enough] / sizes[-1])

    def train(self):
        with self.progress.until_interrupted():
            for epoch in range(self.epochs):
                self._epoch(epoch)
                if self._has_stalled():
                    break

    def _epoch(self, epoch):
        if self._is_renewal(epoch):
            self.trainer.assign(self.rows)
        done = (epoch + np.arange(self.n_steps) / self.n_steps) / self.epochs
        decay = _SCHEDULES[self.params.schedule](done, self.epochs)
        figures = self.trainer.epoch(
            self.random.permutation(self.rows), self.rate * decay, self.leaf_rate * decay)
        if self.params.leaf_update == "closed_form":
            self._fit_leaves()
        self.progress.report({**figures, "validation": self._keep_best()})

    def _is_renewal(self, epoch):
        if self.renew == "step":
            return False    # the kernel re-assigns each sample when it is visited
        if self.renew == "plateau":
            bound = self.progress.history["bound"]
            return len(bound) < 2 or bound[-1] > (1.0 - _NEGLIGIBLE) * bound[-2]
        return epoch % (1 if self.renew == "epoch" else self.renew) == 0

    def _fit_leaves(self):
        problem, rows = self.problem, self.rows
        self.trainer.set_leaves(
            problem.fit_leaves(self.trainer.assignment[rows], rows, self.tree.n_leaves))

    def _has_stalled(self):
        patience, errors = self.params.patience, self.progress.history["validation"]
        if patience is None or not len(self.held_out) or len(errors) <= patience:
            return False
        return min(errors[-patience:]) >= min(errors[:-patience])

    def _keep_best(self):
        """Remember the present tree if it is the best so far; return its error."""
        trainer = self.trainer
        if not len(self.held_out):
            return np.nan
        self.errors = self._weighted_errors()
        if self.best is None or self.errors.sum() <= self.best[0].sum():
            self.best = (self.errors, trainer.weights.copy(), trainer.thresholds.copy(),
                         trainer.values.copy())
        return self.errors.sum()

    def _weighted_errors(self):
        """Errors on the held-out rows, times their weights, which add up to 1."""
        weight = self.problem.validation[self.held_out]
        values = self.trainer.values[self.trainer.navigate(self.held_out)]
        return self.problem.errors(values, self.held_out) * (weight / weight.sum())

    def best_tree(self):
        """The last tree, or the best one if it was clearly better.

        The best of a hundred noisy figures is flattered by the choice, and the decay of the steps
        makes the last tree a good one: the best must lead by its standard error.
        """
        trainer = self.trainer
        parameters = trainer.weights, trainer.thresholds, trainer.values
        if self.best is not None and standard_errors_saved(self.errors, self.best[0]) > 1.0:
            parameters = self.best[1:]
        weights, thresholds, values = parameters
        weights, thresholds = self.scaling.to_raw(weights.astype(np.float64), thresholds)
        return self.tree.replace(weights=weights, thresholds=thresholds, values=values)


@dataclass(frozen=True)
class Space:
    """The space that split weights are trained in.

    Attributes
    ----------
    scaling : Scaling
        How it comes from the raw features.
    norm_limit : float
        Norm, with the constant feature, to which longer samples are shrunk.
    spread : float
        Standard deviation of the shrunk samples in their widest direction.
    """

    scaling: Scaling
    norm_limit: float
    spread: float

    @classmethod
    def measure(cls, problem, norm_limit):
        """Measure it on the training rows; `norm_limit` is in medians of the norm, or None."""
        scaling = problem.scaling
        X = problem.X[_sample(problem.training_rows)]
        is_sparse = sparse.issparse(X)
        if is_sparse:
            X = scaling.transform(X)
            norms = np.sqrt(X.multiply(X).sum(axis=1) + 1.0)
        else:
            X = (X - scaling.center.astype(X.dtype)) * (1.0 / scaling.scale).astype(X.dtype)
            norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64) + 1.0)
        limit = np.inf if norm_limit is None else norm_limit * np.median(norms)
        shrink = np.minimum(1.0, limit / norms)
        if is_sparse:
            X = sparse.diags_array(shrink) @ X      # never centred
        else:
            X *= shrink[:, None].astype(X.dtype)
            X -= X.mean(axis=0)
        return cls(scaling, limit, max(_largest_singular_value(X) / np.sqrt(X.shape[0]), _TINY))


def _sample(rows):
    """Rows spread evenly over the data, at most _SAMPLE of them."""
    return rows[:: max(1, len(rows) // _SAMPLE)][:_SAMPLE]


def _largest_singular_value(X):
    if min(X.shape) <= 2:
        return np.linalg.norm(X.toarray() if sparse.issparse(X) else X, 2)
    largest = abs(X).max()
    if largest == 0:
        return 0.0
    # Not the vector of ones: where features outnumber samples, centring has made X' 1 = 0.
    start = np.random.RandomState(0).normal(size=min(X.shape))
    # Of order 1, since ARPACK works with the squares.
    return largest * svds(X / largest, k=1, v0=start, return_singular_vectors=False)[0]
