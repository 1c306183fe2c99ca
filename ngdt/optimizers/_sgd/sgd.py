"""SGD and Stable SGD on the convex-concave bound: Norouzi et al. (2015), Algorithm 1.

The paper gives no batch size, momentum, schedule, number of epochs or rule for re-assignment. The
choices made here are this package's own, and were made on validation data.
"""

from numbers import Integral, Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ngdt._algorithm import OptimizerResult
from ngdt.inference import RADIUS
from ngdt.optimizers._base import Optimizer
from ngdt.optimizers._sgd.input_scale import InputScale
from ngdt.optimizers._sgd.run import SCHEDULES, SGDRun


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
    batch_size : int, default=100
    epochs : int or "auto", default="auto"
        "auto" is 10, or as many as make 10 000 steps and 40 per feature, but at most 300.
    leaf_learning_rate : float or "auto", default="auto"
        Step of the leaf values on the mean gradient of the batch; "auto" is 10 for classification
        and 1 for regression.
    leaf_limit : float, default=12.0
        Leaf values are clipped to this size: the log loss of pure leaves has no other bound.
    norm_limit : float or None, default=1.5
        Samples with a norm beyond `norm_limit` times the median are shrunk to it while training. A
        positive factor changes no decision, so that the tree needs no change.

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

    is_stochastic = True
    name = "sgd"
    metrics = ("loss", "bound", "gradient_share", "n_scored", "active_leaves", "validation")

    _parameter_constraints: ClassVar[dict] = {
        "inference": [StrOptions({"auto", *RADIUS})],
        "nu": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "schedule": [StrOptions(set(SCHEDULES))],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "leaf_learning_rate": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "leaf_limit": [Interval(Real, 0, None, closed="neither")],
        "norm_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        *,
        inference="auto",
        nu="auto",
        learning_rate="auto",
        schedule="cosine",
        batch_size=100,
        epochs="auto",
        leaf_learning_rate="auto",
        leaf_limit=12.0,
        norm_limit=1.5,
    ):
        self.inference = inference
        self.nu = nu
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.epochs = epochs
        self.leaf_learning_rate = leaf_learning_rate
        self.leaf_limit = leaf_limit
        self.norm_limit = norm_limit

    def _assignment(self):
        """Rule and renewal of the assignment; SGD is SSGD that re-assigns at every visit."""
        return "navigate", "step"

    def _optimize(self, tree, problem):
        """Train.

        Parameters
        ----------
        tree : Tree
        problem : Problem

        Returns
        -------
        OptimizerResult
            History, per epoch: ``loss`` and ``bound`` (means over the visits, each before the step
            it led to), ``gradient_share`` (samples that move a split; above 0.7 the features or nu
            are too small, below 0.02 the tree is frozen), ``n_scored`` (dot products per sample),
            ``active_leaves``, ``validation`` (mean error on held-out rows).
        """
        if tree.n_internal == 0:
            return OptimizerResult(tree)
        return self._train(tree, problem, InputScale.measure(problem, self.norm_limit))

    def _train(self, tree, problem, space):
        """`optimize` for a tree with splits, in a space that has been measured."""
        run = SGDRun(self, tree, problem, space)
        run.train()
        return run.progress.result(run.best_tree())


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
    inference, nu, learning_rate, schedule, batch_size, epochs, leaf_learning_rate, \
leaf_limit, norm_limit
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

    name = "ssgd"

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
        batch_size=100,
        epochs="auto",
        leaf_learning_rate="auto",
        leaf_limit=12.0,
        norm_limit=1.5,
    ):
        super().__init__(
            inference=inference,
            nu=nu,
            learning_rate=learning_rate,
            schedule=schedule,
            batch_size=batch_size,
            epochs=epochs,
            leaf_learning_rate=leaf_learning_rate,
            leaf_limit=leaf_limit,
            norm_limit=norm_limit,
        )
        self.assignment = assignment
        self.renew = renew

    def _assignment(self):
        return self.assignment, self.renew
