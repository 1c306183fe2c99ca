"""SGD and Stable SGD on the convex-concave bound: Norouzi et al. (2015), Algorithm 1.

The paper gives no batch size, schedule, number of epochs or rule for re-assignment. The choices
made here are this package's own, and were made on validation data.
"""

from dataclasses import dataclass
from typing import ClassVar

from scipy import sparse
from sklearn.utils._param_validation import StrOptions

from ngdt._core.search import RADIUS
from ngdt._methods.optimizer import Optimizer
from ngdt._methods.sgd.run import InputScale, SGDRun
from ngdt._training.progress import OptimizerResult
from ngdt._util.validation import AUTO, COUNT, NOT_NEGATIVE, POSITIVE


@dataclass(eq=False, repr=False, kw_only=True)
class SGD(Optimizer):
    """Stochastic gradient descent on the upper bound of the tree's loss.

    Each sample pays the bound of Norouzi et al. (2015), eq. (13) (``inference="fast"``) or eq. (7)
    (``"full"``). Each weight vector stays in a ball of squared radius `nu`, eq. (9). A step changes
    only the weight vectors of nodes whose decisions differ between the two codes of the bound.

    Parameters
    ----------
    inference : {"auto", "fast", "full"}, default="auto"
        Codes that loss-augmented inference searches: those one flip away, or all. Because of exact
        pruning, both compute about as many scores. "auto" is "fast" for classification, where it
        was up to two points more accurate, and "full" for regression, whose bound is then
        continuous.
    nu : float or "auto", default="auto"
        Largest squared norm of a weight vector together with its threshold, for standardised
        features. "auto" is ``(2 * D / sigma) ** 2``, where D is the mean over samples of the
        largest leaf loss in the initial tree and sigma the standard deviation along the first
        principal component: the size at which a flip can cost as much as the worst leaf.
    learning_rate : float or "auto", default="auto"
        Step size in units of sqrt(nu). "auto" is 0.1 for classification and 0.03 for regression,
        whose gradients are dominated by the largest errors. Both learning rates decay as a cosine.
    batch_size : int, default=100
    epochs : int or "auto", default="auto"
        "auto" is the number that makes 10 000 steps, or 40 per feature that is not constant if that
        is more; at least 10 and at most 300.
    leaf_learning_rate : float or "auto", default="auto"
        Step size of the leaf values, for the mean gradient of the batch. "auto" is 10 for
        classification and 1 for regression.
    leaf_limit : float, default=12.0
        Leaf values of classifiers are clipped to this size: the log loss of pure leaves has no
        other bound. Leaf values of regression are not clipped.
    norm_limit : float or None, default=1.5
        During training, samples with a norm above `norm_limit` times the median are shrunk to it.
        A positive factor changes no decision, so the tree remains valid.

    Notes
    -----
    With validation samples, the tree with the lowest validation error is returned, which can be the
    initial one, if it is better than the last tree by more than the standard error of the paired
    difference. Without them, the last tree is returned, even if its training error is higher than
    that of the initial tree: the bound asks for margins, which a tree with few samples on one side
    of a split may not have.

    Deviation: initial weight vectors are scaled to norm 1, or shrunk further by powers of two until
    almost as many samples have a gradient as can have one. The decisions are the same. Without it,
    flips of axis-aligned splits of one-hot features cost more than any loss. And there is no
    momentum: the paper has one, but does not say of what size.

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
    space = "row_span"
    metrics = ("loss", "bound", "gradient_share", "n_scored", "n_active_leaves", "validation")

    _parameter_constraints: ClassVar[dict] = {
        "inference": [StrOptions({"auto", *RADIUS})],
        "nu": [POSITIVE, AUTO],
        "learning_rate": [POSITIVE, AUTO],
        "batch_size": [COUNT],
        "epochs": [COUNT, AUTO],
        "leaf_learning_rate": [NOT_NEGATIVE, AUTO],
        "leaf_limit": [POSITIVE],
        "norm_limit": [POSITIVE, None],
    }

    inference: str = "auto"
    nu: float | str = "auto"
    learning_rate: float | str = "auto"
    batch_size: int = 100
    epochs: int | str = "auto"
    leaf_learning_rate: float | str = "auto"
    leaf_limit: float = 12.0
    norm_limit: float | None = 1.5
    assignment, renew = "navigate", "step"      # parameters of `SSGD`

    def _optimize(self, tree, problem, input_scale=None):
        """Train.

        Parameters
        ----------
        tree : Tree
        problem : Problem
        input_scale : InputScale, default=None
            None measures it.

        Returns
        -------
        OptimizerResult
            History, per epoch: ``loss`` and ``bound`` (means over the samples, each before the step
            that it causes), ``gradient_share`` (samples that move a split; above 0.7 the features
            or nu are too small, below 0.02 the tree is frozen), ``n_scored`` (dot products per
            sample), ``n_active_leaves`` (leaves that samples reach), ``validation`` (mean error on
            the validation samples).
        """
        if tree.n_internal == 0:
            return OptimizerResult(tree)
        if input_scale is None:
            problem = _dense_if_smaller(problem)
            input_scale = InputScale.measure(problem, self.norm_limit)
        run = SGDRun(self, tree, problem, input_scale)
        run.shrink_weights()
        run.train()
        return run.progress.result(run.best_tree)


def _dense_if_smaller(problem):
    """The problem with dense samples, if a CSR matrix of them takes more memory.

    Sparse features are never centred. Those that are far from zero would leave little of the
    largest norm of the weights to what tells the samples apart.
    """
    X = problem.X
    is_smaller = sparse.issparse(X) and (
        X.data.nbytes + X.indices.nbytes >= X.shape[0] * X.shape[1] * X.dtype.itemsize)
    return problem.replace(X=X.toarray()) if is_smaller else problem


@dataclass(eq=False, repr=False, kw_only=True)
class SSGD(SGD):
    """Stable SGD: the bound of each sample refers to an assigned leaf, Norouzi et al. (2015), \
eq. (14).

    Parameters
    ----------
    inference, nu, learning_rate, batch_size, epochs, leaf_learning_rate, leaf_limit, norm_limit
        As for `SGD`.
    assignment : {"best", "navigate"}, default="best"
        "navigate" assigns each sample to the leaf that it reaches, as the paper does.
        Deviation: "best" assigns it to the leaf with the smallest sum of loss and cost of reaching
        it, by cost-diminished inference. Eq. (14) is an upper bound for any assignment, and in
        Algorithm 1 a sample that reaches the worst leaf has no gradient.
    renew : {"step", "epoch", "plateau"} or int, default="step"
        How often assignments are renewed: at each step for its samples, before each epoch, every so
        many epochs, or when the mean bound has stopped improving (the paper's rule).
        ``assignment="navigate", renew="step"`` is `SGD`.

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
            COUNT,
        ],
    }

    assignment: str = "best"
    renew: int | str = "step"
