"""Annealed soft training of a whole tree, by the direct gradient of a bounded loss."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import StrOptions

from ngdt._methods.linear_leaves.models import LOCATION_LOSSES
from ngdt._methods.soft.run import SoftOptimizer, SoftSchedule
from ngdt._training.control import cosine
from ngdt._util.validation import AUTO, BELOW_ONE, COUNT, NOT_NEGATIVE, POSITIVE, ZERO_TO_ONE

# These defaults were chosen on validation samples of nine training sets.
# Learning rate times the root of the number of features that vary, for classification and
# regression. Constant ones are not trained.
_RATE, _REGRESSION_RATE = 0.11, 0.07
# Share of the weights that a step removes where all features have one scale, as pixels do. Decay
# removes features that vary little. Where each feature has its own scale, half of it is used, but
# not with linear leaves.
_DECAY = 0.01
# Number of mini-batches, and largest number of epochs. Classes take a fixed number of epochs, in
# half to twice the mini-batches. On 26 tables of at most 4000 samples, 2250 mini-batches were not
# more accurate, in twice the time. On seven sets of 20 000 to 60 000 samples, 4500 were more
# accurate by 0.35 points. Regression gained from neither.
N_STEPS, _MAX_EPOCHS, _CLASS_EPOCHS = 2250, 300, 75
# Largest number of samples per mini-batch, and number of mini-batches per epoch of smaller data.
_MAX_BATCH_SIZE, _N_BATCHES = 250, 16


@dataclass(eq=False, repr=False, kw_only=True)
class Annealed(SoftOptimizer):
    """Train a tree with soft routing by gradient descent while routing becomes hard.

    The model is from Hehn, Kooij & Hamprecht (2020). A sample goes right at node i with
    probability sigmoid(gamma * s_i), and a leaf is a distribution. All splits are trained together
    by the gradient of the loss. The leaves follow an online form of the paper's M-step. The
    steepness gamma rises until hard routing gives almost the same tree. The result routes hard.

    For regression, a leaf predicts a number or a linear function of the features. Splits and leaves
    are trained by the gradient of the expected loss over the leaves. The squared loss is linear
    from an error of three standard deviations of the targets on, so that outliers do not direct the
    splits. At the end, the leaf values are fitted to the samples that reach the leaves by hard
    routing.

    Deviation: the paper alternates the two steps of EM; here the gradient is followed directly. The
    weights decay, so that splits do not become so steep that their gradient vanishes. The learning
    rate decays. The loss of a class is bounded, so that samples that no leaf predicts well have
    little influence. The paper has no regression.

    Parameters
    ----------
    leaf : {"constant", "linear"}, default="constant"
        What a leaf of regression predicts. The slopes of linear leaves stay as they are trained;
        predictions are clipped to the range of the training targets in the leaf.
    gamma : tuple of two floats, default=(1.0, 7.0)
        Steepness at the beginning and at the end; it changes linearly.
    q : float, default=0.5
        The loss of a class of likelihood V is ``(1 - V**q) / q``, the generalised cross-entropy of
        Zhang & Sabuncu (2018). It is bounded by ``1 / q``, and is the log loss for q = 0.
    learning_rate : float or "auto", default="auto"
        Initial learning rate of Adam; it decays as a cosine. "auto" is ``0.11 / sqrt(n_varying)``
        for classification and ``0.07 / sqrt(n_varying)`` for regression, where constant features
        are not counted; all are with `expected_samples`.
    leaf_learning_rate : float, default=0.02
        Initial learning rate of Adam for the leaves of regression; it decays as a cosine.
    weight_decay : float or "auto", default="auto"
        Decoupled weight decay: a step removes the share ``learning_rate * weight_decay`` of the
        weights. The share decays as a cosine, too. "auto" makes the initial share 0.01 where all
        features have one scale or leaves are linear, and otherwise 0.005.
    batch_size : int or "auto", default="auto"
        Samples per mini-batch. "auto" is a sixteenth of the samples, but at most 250.
    steps : int or "auto", default="auto"
        Number of mini-batches, rounded to whole epochs. "auto" is 2250, but at most 300 epochs. For
        classification, it is as many as make 75 epochs, but at least 1125 and at most 4500.
    mixing : float, default=0.0
        Whenever a sample is visited, it is moved towards a random other one, by a random share of
        the way of at most this. Its target stays. 0 shows the samples as they are. With 0.4, trees
        of a few thousand images were more accurate, most others less. Not for sparse data.
    expected_samples : int or None, default=None
        For `partial_fit`: number of samples that all its calls together will be given, each counted
        as often as it is given. The schedules run over them, from call to call, and a part is
        visited as often as `fit` would visit so many samples. None runs the whole schedule in each
        call. `fit` does not use it.
    slope_penalty : float or "auto", default="auto"
        Penalty on the squared slopes of linear leaves, in samples and in scaled features. "auto" is
        3.
    pseudo_count : float, default=0.1
        Weight of the prior, in samples, in each leaf of classification while it is trained.
    cutoff : float in [0, 1), "auto" or None, default="auto"
        A subtree that a sample reaches with less than this probability is skipped, and its sibling
        gets the whole probability. None visits every node, by matrix products. "auto" is 0.001 for
        dense data where all splits together have at least 32 768 weights, and None otherwise.

    References
    ----------
    Hehn, Kooij & Hamprecht (2020), End-to-End Learning of Decision Trees and Forests, IJCV 128.
    Zhang & Sabuncu (2018), Generalized Cross Entropy Loss for Training Deep Neural Networks with
    Noisy Labels, NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.optimizers import Annealed
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(
    ...     max_depth=2, init="random_complete", optimizer=Annealed(steps=500), random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.95
    True
    """

    name = "annealed"
    beta2, refit_every_step = 0.95, True

    _parameter_constraints: ClassVar[dict] = {
        "leaf": [StrOptions({"constant", "linear"})],
        "gamma": [tuple],
        "q": [ZERO_TO_ONE],
        "learning_rate": [POSITIVE, AUTO],
        "leaf_learning_rate": [POSITIVE],
        "weight_decay": [NOT_NEGATIVE, AUTO],
        "batch_size": [COUNT, AUTO],
        "steps": [COUNT, AUTO],
        "mixing": [ZERO_TO_ONE],
        "expected_samples": [COUNT, None],
        "slope_penalty": [NOT_NEGATIVE, AUTO],
        "pseudo_count": [POSITIVE],
        "cutoff": [BELOW_ONE, AUTO, None],
    }

    leaf: str = "constant"
    gamma: tuple = (1.0, 7.0)
    q: float = 0.5
    learning_rate: float | str = "auto"
    leaf_learning_rate: float = 0.02
    weight_decay: float | str = "auto"
    batch_size: int | str = "auto"
    steps: int | str = "auto"
    mixing: float = 0.0
    expected_samples: int | None = None
    slope_penalty: float | str = "auto"
    pseudo_count: float = 0.1
    cutoff: float | str | None = "auto"

    def check(self, problem):
        super().check(problem)
        if len(self.gamma) != 2 or not all(
                isinstance(gamma, Real) and 0 < gamma <= 1e6 for gamma in self.gamma):
            raise ValueError(f"gamma must be two positive numbers up to 1e6, got {self.gamma}")
        if self.leaf == "linear" and problem.loss.name not in LOCATION_LOSSES:
            raise ValueError(
                f"leaf='linear' is for regression with the losses {', '.join(LOCATION_LOSSES)}, "
                f"not for loss={problem.loss}: use leaf='constant'")
        if self.mixing and sparse.issparse(problem.X):
            raise ValueError(
                f"mixing={self.mixing} is for dense data: use mixing=0, or X.toarray()")

    @property
    def space(self):
        return "row_span" if self.leaf == "constant" else None

    def _schedule(self, n_samples, problem):
        batch = self.batch_size
        if batch == "auto":
            batch = min(_MAX_BATCH_SIZE, -(-n_samples // _N_BATCHES))
        batch = min(int(batch), n_samples)     # of a few bits, -n_samples would overflow
        rate, decay = self.learning_rate, default_decay(problem, self.leaf)
        if rate == "auto":
            rate = default_rate(problem.loss, len(problem.varying))
        if self.weight_decay != "auto":
            decay = rate * self.weight_decay
        if decay > 1:
            raise ValueError(
                f"weight_decay={self.weight_decay} would remove more than all of the weights: use "
                f"at most 1 / learning_rate, here {1 / rate:.3g}")
        begin, end = self.gamma
        return SoftSchedule(
            epochs=self._epochs(-(-n_samples // batch), problem.loss),
            batch_size=batch,
            gamma=lambda done: begin + (end - begin) * done,
            rate=lambda done: rate * cosine(done),
            decay=lambda done: decay * cosine(done),
            leaf_rate=None if problem.loss.is_classifier else (
                lambda done: self.leaf_learning_rate * cosine(done)))

    def _epochs(self, steps_per_epoch, loss):
        if self.steps != "auto":
            return max(1, round(self.steps / steps_per_epoch))
        steps = N_STEPS
        if loss.is_classifier:
            steps = np.clip(_CLASS_EPOCHS * steps_per_epoch, N_STEPS // 2, 2 * N_STEPS)
        return int(np.clip(round(steps / steps_per_epoch), 1, _MAX_EPOCHS))


def default_rate(loss, n_features):
    """Initial learning rate of the splits."""
    return (_RATE if loss.is_classifier else _REGRESSION_RATE) / np.sqrt(n_features)


def default_decay(problem, leaf):
    """Share of the weights that the first step removes."""
    return _DECAY if leaf == "linear" or np.ptp(problem.scaling.scale) == 0 else _DECAY / 2
