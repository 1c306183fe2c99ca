"""Encoding of y as the targets of training, and decoding of the leaf values."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ngdt._core.winsorize import OF_TARGETS, fences, winsorized
from ngdt._encoding.check import spelled_by
from ngdt._encoding.check_targets import as_labels, refuse_objects
from ngdt._encoding.columns import is_missing
from ngdt._util.arrays import power_of_two
from ngdt._util.validation import check_finite, check_size_of_weights, error_prefix, warn

# Largest rounding error of a leaf value, relative to the mean of the targets that is added to it.
ROUNDING = 1e-13
# Largest target in units of the standard deviation, which fits the float32 of soft training, and
# most that all samples may weigh, times the largest square: sums of losses do not overflow then.
_MAX_TARGET, _MAX_SQUARES = 1e36, 1e307
# Number of labels from which floats, and texts that spell numbers, are probably amounts.
_MANY_AMOUNTS = 50
# How much more a class of all samples weighs than one of none, with balanced weights.
_TIE_BREAK = 1e-10


def check_classes(classes):
    """Check the labels that may occur, and sort them.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        If y could not hold one of them.
    """
    with error_prefix("classes"):
        classes = np.asarray(as_labels(classes))
        if classes.ndim != 1:
            raise ValueError(f"expected a list of labels, got {classes.tolist()!r}")
        if any(map(is_missing, classes)):
            raise ValueError("a label is missing: leave it out, or give it a name")
        refuse_objects(classes)
        if classes.dtype.kind == "f":
            check_finite("every label", classes)
        # Of labels that occur once, scikit-learn warns that they may be numbers to regress on.
        check_classification_targets(np.repeat(classes, 2))
        return np.unique(classes)


def weighted_by_class(by_class, targets, sample_weight, parameter="sample_weight"):
    """Sample weights, multiplied by the weights of their classes.

    Parameters
    ----------
    by_class : ndarray of shape (n_classes,)
    targets : ndarray of int, shape (n_samples,)
    sample_weight : ndarray of shape (n_samples,)
    parameter : str, default="sample_weight"
        Name of the parameter that gave the weights, for error messages.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        weight = sample_weight * by_class[targets]
    if not weight.any():
        raise ValueError(f"class_weight and {parameter} leave no sample of positive weight")
    check_size_of_weights(f"the product of class_weight and {parameter}", weight)
    return weight


def _check_discrete(y):
    """Refuse targets of a regression."""
    # Of numbers and texts that are classes, scikit-learn only warns if they are many.
    if y.dtype.kind in "biuU" and 2 * len(np.unique(y)) <= len(y):
        return
    try:
        check_classification_targets(y)
    except ValueError as error:
        kind = str(error).partition(". Maybe")[0]
        raise ValueError(
            f"{kind}, in y: for amounts, use a regressor; classes are whole numbers or strings"
        ) from error


@dataclass(frozen=True, eq=False)
class ClassTargets:
    """Labels as class indices.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, sorted.
    """

    classes: np.ndarray

    @property
    def n_outputs(self):
        """Number of values per leaf."""
        return len(self.classes)

    @classmethod
    def fit(cls, y, classes=None):
        """Make the encoding of the labels of y, or of given labels.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
        classes : ndarray, default=None
            All labels that may occur, sorted.

        Warns
        -----
        UserWarning
            If the labels of y are floats, or texts that spell numbers, and so many that they are
            probably amounts.
        """
        if classes is not None:
            return cls(classes)
        _check_discrete(y)
        classes = np.unique(y)
        if len(classes) > _MANY_AMOUNTS and _are_amounts(classes):
            warn(
                f"y holds {len(classes)} different numbers, or texts that spell numbers, such as "
                f"{classes.tolist()[0]!r}, and each is a class. For amounts, use a regressor, with "
                "numbers, as pandas.to_numeric makes them of texts; for codes, y.astype(int)")
        return cls(classes)

    def encode(self, y):
        """Index of each label.

        Raises
        ------
        ValueError
            If y contains an unknown label.
        """
        found, targets = np.unique(y, return_inverse=True)
        unknown = np.setdiff1d(found, self.classes)
        if unknown.size:
            _check_discrete(y)
            raise ValueError(
                f"y contains the labels {unknown}, but the classes are {self.classes}: leave those "
                "samples out, or train with them")
        return np.searchsorted(self.classes, found)[targets]

    def apply_class_weight(self, class_weight, targets, sample_weight):
        """Sample weights, multiplied by the weights of their classes.

        Parameters
        ----------
        class_weight : dict, "balanced" or None
        targets : ndarray of int, shape (n_samples,)
        sample_weight : ndarray of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if class_weight is None:
            return sample_weight
        by_class = self.weight_by_class(class_weight, targets, sample_weight)
        return weighted_by_class(by_class, targets, sample_weight)

    def weight_by_class(self, class_weight, targets, sample_weight):
        """Weight of each class.

        Parameters
        ----------
        class_weight, targets, sample_weight
            As for `apply_class_weight`.

        Returns
        -------
        ndarray of shape (n_classes,)
        """
        if class_weight is None:
            return np.ones(len(self.classes))
        if isinstance(class_weight, str):
            total = np.bincount(targets, weights=sample_weight, minlength=len(self.classes))
            # Classes of weight zero are not counted: they have no samples to give weight to.
            with np.errstate(over="ignore"):
                by_class = total.sum() / np.count_nonzero(total) / np.where(total == 0, 1, total)
            # Of classes that balance each other in a leaf, it predicts the more frequent one.
            by_class = by_class * (1.0 + _TIE_BREAK * total / total.sum())
        else:
            with error_prefix("class_weight"):
                by_class = compute_class_weight(
                    class_weight, classes=self.classes, y=self.classes)
            if (by_class < 0).any() or not np.isfinite(by_class).all():
                raise ValueError(
                    f"class_weight must be finite and not negative, got {class_weight!r}")
        return by_class

    def scale_leaf_values(self, tree, loss):
        """Return the tree itself: leaf values of classification are not scaled."""
        return tree

    unscale_leaf_values = scale_leaf_values

    def scale_impurity(self, decrease, loss):
        """Return the decrease of the impurity itself, in bits."""
        return decrease


@dataclass(frozen=True, eq=False)
class RegressionTargets:
    """Standardised targets, so that step sizes and bounds do not depend on the units of y.

    For a loss with a log link, targets are divided by their mean, so that zero stays zero.

    Attributes
    ----------
    center, scale : ndarray of shape (n_targets,)
        Winsorized mean and standard deviation of each target; with a log link, zero and the mean.
    has_log_link : bool
        Whether the loss has a log link.
    names : tuple of str
        Names of several targets; empty if they are not known.
    """

    center: np.ndarray
    scale: np.ndarray
    has_log_link: bool = False
    names: tuple = ()

    @property
    def n_outputs(self):
        """Number of values per leaf."""
        return len(self.center)

    @classmethod
    def fit(cls, y, sample_weight, loss):
        """Standardise by weighted moments of each target; the scale of a constant one is 1.

        Parameters
        ----------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : ndarray of shape (n_samples,)
            Samples of weight 0 are ignored.
        loss : Loss

        Raises
        ------
        ValueError
            For a loss with a log link, if y has a negative number or a sum of zero.
        """
        used = sample_weight > 0
        y, sample_weight = _as_columns(y)[used], sample_weight[used]
        if loss.has_log_link and (y.min() < 0 or not y.any(axis=0).all()):
            raise ValueError(
                f"y must have a positive sum and no negative number for the {loss.name} loss, got "
                f"values from {y.min():g} to {y.max():g}")
        # In units of a power of two, squares do not overflow and nothing is rounded.
        unit = power_of_two(np.abs(y).max(axis=0))
        y = y / unit
        if not loss.has_log_link:   # far targets do not set the unit
            y = winsorized(y, *fences(y, sample_weight, OF_TARGETS))
        # Rounding must not take the mean of equal numbers away from them.
        center = np.clip(np.average(y, axis=0, weights=sample_weight), y.min(axis=0), y.max(axis=0))
        if loss.has_log_link:
            return cls(np.zeros_like(center), unit * center, True)
        mean = unit * center
        std = unit * np.sqrt(np.average((y - center) ** 2, axis=0, weights=sample_weight))
        # Numbers that differ in their last digits count as equal.
        is_constant = std <= 1e-14 * np.abs(mean)
        return cls(mean, np.where(is_constant, np.maximum(1.0, np.abs(mean)), std))

    def named(self, names):
        """The encoding with names of the targets.

        Parameters
        ----------
        names : tuple of str

        Returns
        -------
        RegressionTargets

        Raises
        ------
        ValueError
            If the targets have had other names, or these in another order.
        """
        if self.names and names != self.names:
            raise ValueError(
                f"the columns must be {[*self.names]}, in this order, as in training, got "
                f"{[*names]}")
        return replace(self, names=names)

    def encode(self, y):
        """Standardised targets, shape (n_samples, n_targets).

        Raises
        ------
        ValueError
            If the number of targets is not `n_outputs`, or if they are too large in the
            units of those that the encoding was made of.
        """
        y = _as_columns(y)
        if y.shape[1] != self.n_outputs:
            raise ValueError(
                f"y has {y.shape[1]} targets, but the initial tree has {self.n_outputs}: give as "
                "many, or another init")
        with np.errstate(over="ignore"):
            encoded = (y - self.center) / self.scale
        if not np.abs(encoded).max(initial=0.0) <= _MAX_TARGET:
            raise ValueError(
                f"y has numbers up to {np.abs(y).max():.3g}, more than {_MAX_TARGET:g} times the "
                f"standard deviation of most targets, {self.scale.min():.3g}: leave those samples "
                "out, predict the logarithm of y or, in a warm start, use warm_start=False")
        return encoded

    @staticmethod
    def check_weighted(targets, sample_weight):
        """Refuse encoded targets whose losses overflow when they are weighted.

        Parameters
        ----------
        targets : ndarray of shape (n_samples, n_targets)
        sample_weight : ndarray of shape (n_samples,)
        """
        largest = max(1.0, (targets**2).sum(axis=1).max(initial=0.0))
        if sample_weight.sum() > _MAX_SQUARES / largest:
            raise ValueError(
                f"sample_weight has numbers up to {sample_weight.max():.3g}, whose products with "
                f"squares of y overflow, as y has numbers {np.sqrt(largest):.3g} standard "
                "deviations away: divide the weights by the largest of them")

    def decode(self, y):
        """Targets in the units of y; one that is zero but for rounding errors becomes zero."""
        decoded = y * self.scale + self.center
        return np.where(np.abs(decoded) <= ROUNDING * np.abs(self.center), 0.0, decoded)

    def scale_leaf_values(self, tree, loss):
        """Convert the leaf values of a tree from the units of y to the units of the loss."""
        return _rescaled(
            tree, lambda values: loss.values_of((values - self.center) / self.scale),
            1.0 / self.scale)

    def unscale_leaf_values(self, tree, loss):
        """Convert the leaf values of a tree from the units of the loss to the units of y."""
        return _rescaled(
            _without_idle_slopes(tree), lambda values: self.decode(loss.decode(values)), self.scale)

    def scale_impurity(self, decrease, loss):
        """Convert a decrease of the mean loss, averaged over targets, to the units of training.

        Training sums losses over the standardised targets, so that each target has the same
        influence.
        """
        power, largest = loss.scale_power, self.scale.max()     # its square may overflow
        relative = np.mean((self.scale / largest) ** power)
        with np.errstate(over="ignore"):    # more than any split can gain
            for _ in range(power):
                decrease = np.divide(decrease, largest)
            return self.n_outputs * decrease / relative


def _are_amounts(classes):
    """Return whether labels are floats, or texts that spell numbers. Digits alone are codes."""
    return classes.dtype.kind == "f" or (
        classes.dtype.kind in "OU" and not all(str(label).isdigit() for label in classes)
        and spelled_by(classes.tolist())[0] == "numbers")


def _rescaled(tree, convert, factor):
    """Change the units of predictions: `convert` maps values, `factor` multiplies slopes."""
    leaves = tree.leaf_arrays()
    leaves["values"] = convert(leaves["values"])
    if tree.slopes is not None:
        with np.errstate(over="ignore"):
            leaves["slopes"] = leaves["slopes"] * factor[:, None]
        if not np.isfinite(leaves["slopes"]).all():
            raise ValueError(
                "slopes of linear leaves overflow, as numbers of y are too large for the small "
                "ones of X: divide y, or multiply columns of X, or use leaf='constant'")
    if tree.ranges is not None:
        leaves["ranges"] = convert(leaves["ranges"].swapaxes(1, 2)).swapaxes(1, 2)
    return tree.replace(**leaves)


def _without_idle_slopes(tree):
    """Make outputs constant whose limits are equal, so that slopes have no effect."""
    if tree.ranges is None:
        return tree
    low, high = np.moveaxis(tree.ranges, -1, 0)
    is_idle = low == high
    values = np.where(is_idle, low, tree.values)
    slopes = np.where(is_idle[..., None], 0.0, tree.slopes)
    if not slopes.any():
        return tree.replace(values=np.clip(values, low, high))
    return tree.replace(values=values, slopes=slopes, ranges=tree.ranges)


def _as_columns(y):
    if sparse.issparse(y):
        raise TypeError("y must be a dense array, got a sparse matrix: pass y.toarray()")
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1)
