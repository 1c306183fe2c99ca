"""Finetune of Hehn, Kooij & Hamprecht (2020): EM over an entire tree with soft routing."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ngdt.optimizers._soft.run import SoftOptimizer, SoftSchedule, check_image_shape

# Mini-batches per epoch that small data get: as many as those of 1000 samples that MNIST has.
_BATCHES, _SMALLEST_BATCH = 60, 10


class EndToEnd(SoftOptimizer):
    """Expectation-maximisation over an entire tree while routing turns hard.

    The E-step finds what each leaf is responsible for, eq. 10. The M-step of the leaves is closed,
    eq. 13, once per epoch; that of the splits is a step of Adam per mini-batch on eq. 14, whose
    gradient is that of the log-likelihood. The steepness rises after each epoch. The result routes
    hard, with leaves refitted to the samples that they get.

    Parameters
    ----------
    gamma : float, default=1.0
        Steepness in the first epoch.
    gamma_step : float, default=0.1
        What each epoch adds to it.
    epochs : int, default=50
        The paper chooses from 20, 35, 50 and 65.
    learning_rate : float, default=0.001
        Of Adam, which is the paper's.
    batch_size : int or "auto", default="auto"
        "auto" is the paper's 1000, but no more than a 60th of the samples, and at least 10.
        Deviation: with the paper's small learning rate, the few steps per epoch that small data,
        and nodes with few samples, would get move the splits hardly at all.
    spatial_penalty : float, default=0.0
        Weight of the sum of squared differences between the weights of neighbouring pixels, eq. 15,
        in the mean loss of a sample; in scaled feature space.
    image_shape : tuple of two or three ints, or None, default=None
        Rows, columns and, if there are several, channels of the images that the features are.
    keep_zeros : bool, default=False
        Whether weights that are zero at the start stay zero, which keeps the splits of
        `SoftGreedy` with random features, or axis-aligned ones, on their features.
    pseudo_count : float, default=0.1
        Weight of the prior, in samples, in each leaf while it is trained.
        Deviation: without it, a leaf would rule out a class for ever.
    cutoff : float in [0, 1), "auto" or None, default="auto"
        As for `Annealed`.

    See Also
    --------
    ngdt.initializers.SoftGreedy : The paper's greedy construction.
    Annealed : More accurate on all sets that were tried, and faster.

    References
    ----------
    Hehn, Kooij & Hamprecht (2020), End-to-End Learning of Decision Trees and Forests, IJCV 128.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.optimizers import EndToEnd
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(
    ...     max_depth=2, init="random_complete", random_state=0,
    ...     optimizer=EndToEnd(epochs=200, batch_size=20, learning_rate=0.01))
    >>> tree.fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "gamma": [Interval(Real, 0, 1e6, closed="right")],
        "gamma_step": [Interval(Real, 0, 1e6, closed="both")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "spatial_penalty": [Interval(Real, 0, None, closed="left")],
        "image_shape": [tuple, None],
        "keep_zeros": ["boolean"],
        "pseudo_count": [Interval(Real, 0, None, closed="neither")],
        "cutoff": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        *,
        gamma=1.0,
        gamma_step=0.1,
        epochs=50,
        learning_rate=0.001,
        batch_size="auto",
        spatial_penalty=0.0,
        image_shape=None,
        keep_zeros=False,
        pseudo_count=0.1,
        cutoff="auto",
    ):
        self.gamma = gamma
        self.gamma_step = gamma_step
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.spatial_penalty = spatial_penalty
        self.image_shape = image_shape
        self.keep_zeros = keep_zeros
        self.pseudo_count = pseudo_count
        self.cutoff = cutoff

    def check(self, problem):
        super().check(problem)
        if self.spatial_penalty and self.image_shape is None:
            raise ValueError(
                "spatial_penalty needs image_shape, the rows and columns of the images")
        if self.image_shape is not None:
            check_image_shape(self.image_shape, problem.X.shape[1])

    def _schedule(self, n_samples, problem):
        batch = self.batch_size
        if batch == "auto":
            batch = int(np.clip(n_samples // _BATCHES, _SMALLEST_BATCH, 1000))
        return SoftSchedule(
            epochs=self.epochs,
            batch_size=min(batch, n_samples),
            gamma=lambda done: self.gamma + self.gamma_step * np.floor(
                done * self.epochs + 1e-9),
            rate=lambda done: np.full_like(done, self.learning_rate),
            decay=np.zeros_like,
            q=0.0,
            beta2=0.999,
            pseudo_count=self.pseudo_count,
            refit_every_step=False,
            spatial_penalty=float(self.spatial_penalty),
            image_shape=self.image_shape if self.spatial_penalty else None,
            keep_zeros=self.keep_zeros,
            cutoff=self.cutoff,
        )
