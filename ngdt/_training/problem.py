"""The input of every algorithm: data, loss and limits, with common computations on them.

`Initializer.initialize` and `Optimizer.optimize` take a `Problem`. The built-in algorithms use only
the public members of this module, so that algorithms of other packages can do the same.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ngdt._core.greedy.splitter import Splitter
from ngdt._core.loss import Loss
from ngdt._core.samples import Samples
from ngdt._core.scaling import Moments, Scaling
from ngdt._core.tree import Tree
from ngdt._core.winsorize import target_fences, weaken_rows, winsorized
from ngdt._training.control import NO_CONTROL, Control

# What is computed at first use, and the fields that it depends on.
_DEPENDS_ON = {
    "data": {"X"},
    "moments": {"X", "sample_weight"},
    "scaling": {"X", "sample_weight", "standardize"},
    "splitter": {"X", "y", "loss", "n_outputs", "sample_weight"},
    "row_span": {"X", "sample_weight", "standardize"},
    "near_targets": {"y", "sample_weight"},
    # These hold what has been computed of their X.
    **{name: {"X", "y", "loss", "n_outputs", "sample_weight", "standardize"}
       for name in ("winsorized", "near", "screen", "whole")},
}
# What is small enough to be sent to other processes with the problem.
_SENT = ("moments", "scaling")
# Number of far targets from which trees are trained on them, at the fences, and in a leaf, from
# which it may follow them: as many as a category needs. Three errors at the fences, in 278 to 1400
# rows, cost up to 0.05 of R2. Of 25 columns of real tables and made ones that have one to four, the
# error of default trees is 6 % less without them, that of trees with constant leaves 14 %.
MIN_FAR = 5


class _Computed(dict):
    """Results of `Problem._once`, and a lock: of two threads that need one, the second waits."""

    def __init__(self, *args, **computed):
        super().__init__(*args, **computed)
        self.lock = RLock()

    def __reduce__(self):
        return type(self), (dict(self),)


class Limits(NamedTuple):
    """Limits of the fitted tree, as parameters of the estimators."""

    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0

    def depth(self, most: int) -> int:
        """The largest depth, but no more than this."""
        return most if self.max_depth is None else min(self.max_depth, most)


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, loss and limits of one training run.

    All algorithms of a run share it, and none changes it. Training and validation samples are rows
    of the same X. Validation samples have a training weight of 0 and a positive validation weight.

    Parameters
    ----------
    X : ndarray, C-contiguous float32 or float64, or CSR matrix, of shape (n_samples, n_features)
        Raw features, never copied or changed. A CSR matrix must be in canonical format.
    y : ndarray of float64, shape (n_samples, n_targets)
        Targets as `Loss.encode` returns them.
    loss : Loss
        Loss that the leaf values minimise.
    n_outputs : int
        Number of classes, or of regression targets; the number of values per leaf.
    sample_weight : ndarray of float64, shape (n_samples,)
        Training weights. Samples of weight 0 are not trained on.
    validation_weight : ndarray of float64, shape (n_samples,), or None
        Weights of the validation samples, 0 for training samples; None if there are none.
    own_validation : bool
        Whether the validation samples are none of those to train on in the end: all choices are
        made on them, no other sample is held out, and the limits do not count them. False without
        validation samples.
    limits : Limits
        `max_depth`, `min_samples_split`, `min_samples_leaf`, `min_weight_fraction_leaf`,
        `max_leaf_nodes`, `min_impurity_decrease` and `ccp_alpha` of the estimator; impurities are
        those of the encoded targets. `max_depth` is for initializers, and only the fit regards
        `ccp_alpha`. By default, there are none; `limited` sets them.
    standardize : {"auto", "global", True, False}
        How features are scaled while split weights are trained.
    random_state : int
        Seed.
    n_jobs : int
        Number of threads. Results do not depend on it.
    groups : ndarray of int, shape (n_samples,), or None
        Group of each sample, from 0 on. Samples of one group are not divided: all are trained on,
        or none. None if each sample is a group of its own.
    directions : ndarray of int8, shape (n_features,), or None
        `monotonic_cst` of the features: 1 or -1 where the fitted tree must be monotone. None if it
        need not be. Initializers and optimizers need not regard them.
    free_levels : int
        With directions, number of levels from the root whose splits soft training and `TAO` train
        without the features that have one. Leaves on the two sides of such a split need no order.
    fill : ndarray of shape (n_features,), or None
        Values of the features where a sample has none, which say nothing on how far values lie; NaN
        where there are none.
    control : Control
        How the training runs and stops: ``control.step(share)`` shows how much is done, and returns
        whether there is time for more.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import Problem, Tree
    >>> from ngdt.losses import LogLoss
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> loss = LogLoss()
    >>> problem = Problem(X, loss.encode(y, 2), loss, n_outputs=2, sample_weight=np.ones(4))
    >>> tree = Tree([[1.0]], [0.5], [~0], [~1], np.zeros((2, 2)))
    >>> tree = problem.refit_leaves(tree)
    >>> problem.errors(tree, problem.training_samples)
    array([0., 1., 0., 0.])
    """

    X: Any
    y: np.ndarray
    loss: Loss
    n_outputs: int
    sample_weight: np.ndarray
    validation_weight: np.ndarray | None = None
    own_validation: bool = False
    limits: Limits = field(default_factory=Limits)
    standardize: str | bool = "auto"
    random_state: int = 0
    n_jobs: int = 1
    groups: np.ndarray | None = None
    directions: np.ndarray | None = None
    free_levels: int = 0
    fill: np.ndarray | None = None
    control: Control = field(default=NO_CONTROL, repr=False)

    def __post_init__(self):
        if self.validation_weight is None:
            object.__setattr__(self, "own_validation", False)
        # What `_once` has made. Copies share what does not depend on the replaced fields.
        object.__setattr__(self, "_computed", _Computed())

    def replace(self, **changes) -> "Problem":
        """A copy with some fields replaced.

        Parameters
        ----------
        **changes : dict
            Values of the fields to replace.

        Returns
        -------
        Problem
            It shares what has been computed and does not depend on the replaced fields.
        """
        changes = {name: value for name, value in changes.items()
                   if value is not getattr(self, name)}
        outdated = {name for name, fields in _DEPENDS_ON.items() if fields & changes.keys()}
        computed = self._computed
        if outdated:
            computed = _Computed({
                name: value for name, value in computed.items() if name not in outdated})
        return self._copy(computed, **changes)

    def limited(self, **limits) -> "Problem":
        """A copy with some limits replaced.

        Parameters
        ----------
        **limits : dict
            Values of those to replace.

        Returns
        -------
        Problem
        """
        return self.replace(limits=self.limits._replace(**limits))

    def _copy(self, computed, **changes):
        copy = dataclasses.replace(self, **changes)
        object.__setattr__(copy, "_computed", computed)
        return copy

    def part(self, sample_weight: np.ndarray, features: np.ndarray | None = None) -> "Problem":
        """The problem with other training weights and, if given, fewer features, scaled as it is.

        For trees of a forest. They share the moments and the scaling of this problem, where
        `replace` would compute them anew.

        Parameters
        ----------
        sample_weight : ndarray of float64, shape (n_samples,)
            The new training weights.
        features : ndarray of int, shape (n_used,), default=None
            Columns of X to copy. None takes all of them, without a copy.

        Returns
        -------
        Problem
        """
        shared = {"moments": self.moments, "scaling": self.scaling}
        if features is None:
            part = self.replace(sample_weight=sample_weight)
            # It shares the winsorized X of the whole, made once, and only if a tree reads it.
            shared |= {"data": self.data, "whole": self}
        else:
            X = self.X[:, features]
            part = self.replace(
                directions=None if self.directions is None else self.directions[features],
                fill=None if self.fill is None else self.fill[features],
                X=X if sparse.issparse(X) else np.ascontiguousarray(X), sample_weight=sample_weight)
            shared = {name: each.take(features) for name, each in shared.items()}
        return part.knowing(**shared)

    def knowing(self, **computed: Any) -> "Problem":
        """A copy for which something has been computed.

        Parameters
        ----------
        **computed : dict
            Values of `moments`, `scaling` or `data`.

        Returns
        -------
        Problem
        """
        return self._copy(_Computed(self._computed, **computed))

    def with_time(self, share: float) -> "Problem":
        """The problem with a share of the time until the deadline.

        Parameters
        ----------
        share : float

        Returns
        -------
        Problem
        """
        return self.replace(control=self.control.with_time(share))

    def doing(self, share: float, what: str = "") -> "Problem":
        """The problem of an algorithm that is a part of this work.

        Parameters
        ----------
        share : float
            Of this work.
        what : str, default=""
            What the algorithm does, to show it.

        Returns
        -------
        Problem
        """
        return self.replace(control=self.control.part(share, what))

    def __getstate__(self):
        # Kernels stay behind: they are made anew where the copy is used.
        sent = {name: value for name, value in self._computed.items() if name in _SENT}
        return {**vars(self), "_computed": _Computed(sent)}

    def __sizeof__(self):
        # By its size, joblib's backend for Dask decides to send it to a worker once for all trees.
        X = self.X.data if sparse.issparse(self.X) else self.X
        return object.__sizeof__(self) + X.nbytes + self.y.nbytes + self.sample_weight.nbytes

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """A value of `_DEPENDS_ON`, made at first use for all copies for which it is true."""
        if name not in self._computed:
            with self._computed.lock:
                if name not in self._computed:
                    self._computed[name] = make()
        return self._computed[name]

    @property
    def data(self) -> Samples:
        """X in the form that the kernels read."""
        return self._once("data", lambda: Samples(self.X))

    @property
    def moments(self) -> Moments:
        """Mean, spread and range of each feature over the training samples."""
        return self._once("moments", lambda: Moments.of(self.X, self.sample_weight))

    @property
    def varying(self) -> np.ndarray:
        """Indices of the features that are not constant; all features where all are constant.

        Draws for each of these are the same with and without further, constant columns.
        """
        varying = np.flatnonzero(self.moments.low < self.moments.high)
        return varying if len(varying) else np.arange(self.X.shape[1])

    @property
    def scaling(self) -> Scaling:
        """The scaling in which split weights are trained, measured on the training samples."""
        return self._once("scaling", lambda: Scaling.fit(
            self.X, self.sample_weight, self.standardize,
            None if self.standardize is False else self.moments, fill=self.fill))

    @property
    def winsorized(self) -> "Problem":
        """The problem with far values moved to the fences, as training reads it.

        Those of features and, if the loss is the squared error, of targets. The problem itself if
        no training sample has a far value.
        """
        made = self._once("winsorized", self._winsorize)
        return self if made is None else self.replace(X=made.X, y=made.y)._copy(made._computed)

    def _winsorize(self):
        whole = self._computed.get("whole")
        if whole is not None:
            near = whole.winsorized
            return None if near is whole else near.part(self.sample_weight)
        scaling, near = self.scaling, {}
        if scaling.low is not None:
            near["X"] = winsorized(self.X, scaling.low, scaling.high)
            weaken_rows(near["X"], self.X, scaling.center)
        y = self._winsorized_targets()
        training = self.sample_weight > 0
        if not np.array_equal(y[training], self.y[training]):
            near["y"] = y
        if not near:
            return None
        return self.replace(**near).knowing(
            winsorized=None, scaling=dataclasses.replace(scaling, low=None, high=None))

    @property
    def _target_fences(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The smallest and the largest near target; None unless the loss is the squared error."""
        return target_fences(self.y, self.sample_weight) if self.loss.is_squared else None

    @property
    def _near_targets(self) -> np.ndarray:
        """Targets of regression, far ones moved to the fences, whatever the loss."""
        return self._once("near_targets", lambda: winsorized(
            self.y, *target_fences(self.y, self.sample_weight)))

    def _winsorized_targets(self):
        return self._near_targets if self.loss.is_squared else self.y

    @property
    def near(self) -> "Problem":
        """The problem with far targets moved to the fences, if the loss is the squared error.

        Samples with far targets have no weight if they are fewer than five. Estimators train on it,
        and choose by it; at the end, leaves follow far targets where these are most of theirs. The
        problem itself if it has no far target.
        """
        def make():
            y = self._winsorized_targets()
            is_far = (y != self.y).any(axis=1)
            if not is_far.any():
                return None
            near, weight = self.replace(y=y), self.sample_weight
            if np.count_nonzero(weight[is_far]) < MIN_FAR:
                near = near.replace(sample_weight=np.where(is_far, 0.0, weight))
            return near.knowing(near=None)

        made = self._once("near", make)
        return self if made is None else self.replace(
            y=made.y, sample_weight=made.sample_weight)._copy(made._computed)

    @property
    def splitter(self) -> Splitter:
        """The search for axis-aligned splits of the training samples.

        Splits reduce the entropy of classes, or the variance of the `split_targets` of the loss.
        Only one thread at a time may use it.
        """
        return self._once("splitter", lambda: Splitter(
            self.X, self.loss.split_targets(self.y, self.sample_weight), self.sample_weight,
            self.n_outputs, "entropy" if self.loss.is_classifier else "variance"))

    @property
    def training_samples(self) -> np.ndarray:
        """Indices of the samples to train on, int32."""
        return np.flatnonzero(self.sample_weight > 0).astype(np.int32)

    @property
    def validation_samples(self) -> np.ndarray:
        """Indices of the samples to validate on, int32; there may be none."""
        if self.validation_weight is None:
            return np.empty(0, dtype=np.int32)
        return np.flatnonzero(self.validation_weight > 0).astype(np.int32)

    def _check_shapes(self, tree: Tree) -> None:
        """Raise a ValueError if a tree has another number of features or outputs."""
        if (tree.n_features, tree.n_outputs) != (self.X.shape[1], self.n_outputs):
            raise ValueError(
                f"the tree is for {tree.n_features} features and {tree.n_outputs} outputs, but the "
                f"data have {self.X.shape[1]} and {self.n_outputs}")

    def apply(self, tree: Tree, samples: np.ndarray) -> np.ndarray:
        """Leaf that each of the given samples reaches.

        Parameters
        ----------
        tree : Tree
        samples : ndarray of int32, shape (n,)
            Indices of the samples.

        Returns
        -------
        ndarray of int32, shape (n,)
        """
        return tree.apply_samples(self.data, samples)

    def predictions(
        self, tree: Tree, samples: np.ndarray, leaf: np.ndarray | None = None
    ) -> np.ndarray:
        """Predictions of the tree for the given samples.

        Parameters
        ----------
        tree : Tree
        samples : ndarray of int32, shape (n,)
        leaf : ndarray of int, shape (n,), default=None
            Leaf of each sample. None computes it.

        Returns
        -------
        ndarray of shape (n, n_outputs)
            Unnormalised log-probabilities of the classes, or predictions of the encoded targets.
        """
        if leaf is None:
            leaf = self.apply(tree, samples)
        return tree.leaf_predictions(leaf, self.data, samples)

    def errors(
        self, tree: Tree, samples: np.ndarray, leaf: np.ndarray | None = None
    ) -> np.ndarray:
        """Error of each sample: 0 or 1 for classification, the loss for regression.

        Parameters
        ----------
        tree : Tree
        samples : ndarray of int32, shape (n,)
        leaf : ndarray of int, shape (n,), default=None
            Leaf of each sample. None computes it.

        Returns
        -------
        ndarray of shape (n,)
            Not multiplied by sample weights.
        """
        return self.prediction_errors(self.predictions(tree, samples, leaf), samples)

    def prediction_errors(self, predictions: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """`errors`, computed from predictions.

        Parameters
        ----------
        predictions : ndarray of shape (n, n_outputs)
        samples : ndarray of int, shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.loss.errors(predictions, self.y[samples])

    def fit_leaves(self, leaf: np.ndarray, samples: np.ndarray, n_leaves: int) -> np.ndarray:
        """Best leaf values for the samples that reach each leaf.

        Parameters
        ----------
        leaf : ndarray of int, shape (n,)
            Leaf of each sample.
        samples : ndarray of int, shape (n,)
        n_leaves : int

        Returns
        -------
        ndarray of shape (n_leaves, n_outputs)
            A leaf without samples gets the best values for all of them.
        """
        return self.loss.fit_leaves(
            leaf, self.y[samples], self.sample_weight[samples], n_leaves, self.n_outputs)

    def refit_leaves(self, tree: Tree, leaf: np.ndarray | None = None) -> Tree:
        """The tree with the best leaf values for the training samples.

        Parameters
        ----------
        tree : Tree
        leaf : ndarray of int, shape (n_training_samples,), default=None
            Leaf of each of `training_samples`. None computes it.

        Returns
        -------
        Tree
        """
        samples = self.training_samples
        if leaf is None:
            leaf = self.apply(tree, samples)
        return tree.replace(values=self.fit_leaves(leaf, samples, tree.n_leaves))

    def _refit_moved(self, tree: Tree) -> Tree:
        """A tree of the winsorized problem, with constant leaves refitted where samples differ."""
        near, samples = self.winsorized, self.training_samples
        if near is self or tree.slopes is not None:
            return tree
        leaf, before = self.apply(tree, samples), near.apply(tree, samples)
        is_moved = (leaf != before) | (self.y[samples] != near.y[samples]).any(axis=1)
        moved = np.union1d(leaf[is_moved], before[is_moved])
        if len(moved) == 0:
            return tree
        values = tree.values.copy()
        values[moved] = self.fit_leaves(leaf, samples, tree.n_leaves)[moved]
        return tree.replace(values=values)
