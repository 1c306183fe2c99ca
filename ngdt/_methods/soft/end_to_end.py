"""Finetune of Hehn, Kooij & Hamprecht (2020): EM over an entire tree with soft routing."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt._methods.soft.run import SoftOptimizer, SoftSchedule, check_image_shape
from ngdt._util.validation import AUTO, BELOW_ONE, COUNT, NOT_NEGATIVE, POSITIVE

# Number of mini-batches per epoch of small data, which is that of MNIST with 1000 samples each, and
# least number of samples per mini-batch.
_N_BATCHES, _MIN_BATCH_SIZE = 60, 10
# Learning rate of Adam for the leaves of regression.
_LEAF_RATE = 0.03


@dataclass(eq=False, repr=False, kw_only=True)
class EndToEnd(SoftOptimizer):
    """Expectation-maximisation over an entire tree while routing becomes hard.

    The E-step computes the responsibilities of the leaves, eq. 10. The M-step of the leaves is in
    closed form, eq. 13, once per epoch. The M-step of the splits is a step of Adam per mini-batch
    on eq. 14, which has the gradient of the log-likelihood. The steepness rises after each epoch.
    The result routes hard, with leaves refitted to the samples that reach them.

    Deviation: the paper has no regression. For it, splits and leaves are trained by the gradient of
    the expected loss over the leaves, as by `Annealed`.

    Parameters
    ----------
    gamma : float, default=1.0
        Steepness in the first epoch.
    gamma_step : float, default=0.1
        Increase of the steepness per epoch.
    epochs : int, default=50
        Number of epochs. The paper chooses from 20, 35, 50 and 65.
    learning_rate : float, default=0.001
        Learning rate of Adam; the default is the paper's.
    batch_size : int or "auto", default="auto"
        Samples per mini-batch. "auto" is the paper's 1000, but no more than a 60th of the samples,
        and at least 10. Deviation: small data, and nodes with few samples, would have few steps per
        epoch. With the paper's small learning rate, these hardly change the splits.
    spatial_penalty : float, default=0.0
        Factor of the sum of squared differences between the weights of neighbouring pixels, eq. 15,
        which is added to the mean loss of a sample. The weights are in scaled feature space.
    image_shape : tuple of two or three ints, or None, default=None
        Rows, columns and, if there are several, channels of the images of which the features are
        the pixels.
    keep_zeros : bool, default=False
        Whether weights that are zero in the initial tree stay zero. The splits of `SoftGreedy` with
        random features, or axis-aligned splits, then keep their features.
    pseudo_count : float, default=0.1
        Weight of the prior, in samples, in each leaf of classification while it is trained.
        Deviation: without it, a class whose probability in a leaf is zero could not come back.
    cutoff : float in [0, 1), "auto" or None, default="auto"
        As for `Annealed`.

    See Also
    --------
    ngdt.initializers.SoftGreedy : The paper's greedy construction.
    Annealed : Faster, and more accurate on all data sets that were tried.

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

    name = "end_to_end"
    beta2, refit_every_step = 0.999, False

    _parameter_constraints: ClassVar[dict] = {
        "gamma": [Interval(Real, 0, 1e6, closed="right")],
        "gamma_step": [Interval(Real, 0, 1e6, closed="both")],
        "epochs": [COUNT],
        "learning_rate": [POSITIVE],
        "batch_size": [COUNT, AUTO],
        "spatial_penalty": [NOT_NEGATIVE],
        "image_shape": [tuple, None],
        "keep_zeros": ["boolean"],
        "pseudo_count": [POSITIVE],
        "cutoff": [BELOW_ONE, AUTO, None],
    }

    gamma: float = 1.0
    gamma_step: float = 0.1
    epochs: int = 50
    learning_rate: float = 0.001
    batch_size: int | str = "auto"
    spatial_penalty: float = 0.0
    image_shape: tuple | None = None
    keep_zeros: bool = False
    pseudo_count: float = 0.1
    cutoff: float | str | None = "auto"

    def check(self, problem):
        super().check(problem)
        if self.spatial_penalty and self.image_shape is None:
            raise ValueError(
                "spatial_penalty needs image_shape, the rows and columns of the images")
        if self.image_shape is not None:
            check_image_shape(self.image_shape, problem.X.shape[1])

    @property
    def space(self):
        return "row_span" if self.image_shape is None else None

    def _schedule(self, n_samples, problem):
        batch = self.batch_size
        if batch == "auto":
            batch = int(np.clip(n_samples // _N_BATCHES, _MIN_BATCH_SIZE, 1000))
        return SoftSchedule(
            epochs=int(self.epochs),    # of a few bits, numbers of steps would overflow
            batch_size=min(int(batch), n_samples),
            gamma=lambda done: self.gamma + self.gamma_step * np.floor(
                done * self.epochs + 1e-9),
            rate=lambda done: np.full_like(done, self.learning_rate),
            decay=np.zeros_like,
            leaf_rate=None if problem.loss.is_classifier else (
                lambda done: np.full_like(done, _LEAF_RATE)))
