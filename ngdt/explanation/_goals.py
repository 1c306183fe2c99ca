"""Goals of changes: predictions to reach, and the inequalities of linear leaves that reach them."""

from dataclasses import dataclass
from numbers import Real

import numpy as np


@dataclass(frozen=True, eq=False)
class ClassGoal:
    """A class of several.

    Attributes
    ----------
    wanted : ndarray of bool, shape (n_classes,)
    """

    wanted: np.ndarray

    def accepts(self, leaf, outputs):
        """Return whether samples of these leaves and outputs meet the goal, bool of shape (n,)."""
        return self.wanted[outputs.argmax(axis=1)]

    def conditions(self, tree, leaf):
        """Sets of inequalities ``slopes @ z <= limits``; a sample of a leaf has to meet one set.

        A class is the most probable one if its logit exceeds those of all classes not wanted.

        Parameters
        ----------
        tree : Tree
            With linear leaves.
        leaf : int

        Yields
        ------
        slopes : ndarray of shape (n_conditions, n_features)
        limits, size : ndarray of shape (n_conditions,)
            The limits, and the size of the numbers that they are differences of.
        is_strict : bool
            Whether equality does not suffice.
        """
        values, slopes = tree.values[leaf], tree.slopes[leaf]
        for k in np.flatnonzero(self.wanted):
            others = values[~self.wanted]
            yield (slopes[~self.wanted] - slopes[k], values[k] - others,
                   np.abs(values[k]) + np.abs(others), True)


@dataclass(frozen=True)
class RangeGoal:
    """A number from a range.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float

    def accepts(self, leaf, outputs):
        """Return whether samples meet the goal, as for `ClassGoal`."""
        return (self.low <= outputs[:, 0]) & (outputs[:, 0] <= self.high)

    def conditions(self, tree, leaf):
        """Sets of inequalities, as for `ClassGoal`; predictions cut at a limit may need none."""
        value, slopes = tree.values[leaf, 0], tree.slopes[leaf, 0]
        least, most = (-np.inf, np.inf) if tree.ranges is None else tree.ranges[leaf, 0]
        if most < self.low or least > self.high:
            return
        signs, limits = [], []
        if most > self.high:
            signs, limits = [1.0], [self.high - value]
        if least < self.low:
            signs, limits = [*signs, -1.0], [*limits, value - self.low]
        limits = np.array(limits)
        yield (np.outer(signs, slopes).reshape(-1, len(slopes)), limits,
               np.abs(limits) + 2 * np.abs(value), False)


@dataclass(frozen=True)
class LeafGoal:
    """Another leaf.

    Attributes
    ----------
    leaf : int
        The leaf to be left.
    """

    leaf: int

    def accepts(self, leaf, outputs):
        """Return whether samples meet the goal, as for `ClassGoal`."""
        return leaf != self.leaf

    def conditions(self, tree, leaf):
        """Sets of inequalities, as for `ClassGoal`."""
        if leaf != self.leaf:
            yield np.empty((0, tree.n_features)), np.empty(0), np.empty(0), False


def class_goal(classes, best, target):
    """The goal of a change for classification.

    Parameters
    ----------
    classes : ndarray
    best : int
        Index of the class that is predicted.
    target : label or None
        None stands for all other classes.

    Returns
    -------
    ClassGoal
    """
    if target is None:
        return ClassGoal(np.arange(len(classes)) != best)
    wanted = classes == target
    if np.shape(wanted) != classes.shape or not wanted.any():
        raise ValueError(f"target must be one of the classes {classes.tolist()}, got {target!r}")
    if wanted[best]:
        raise ValueError(f"target must be another class than the predicted one, got {target!r}")
    return ClassGoal(wanted)


def range_goal(outputs, target):
    """The goal of a change for regression.

    Parameters
    ----------
    outputs : ndarray of shape (n_outputs,)
        The prediction.
    target : tuple of (float, float)

    Returns
    -------
    RangeGoal
    """
    if len(outputs) > 1:
        raise ValueError(f"target needs a model of a single target, not of {len(outputs)}")
    is_range = np.shape(target) == (2,) and all(isinstance(end, Real) for end in target)
    if not (is_range and target[0] <= target[1]):
        raise ValueError(
            "target must be a range of predictions (low, high), whose ends may be infinite, "
            f"got {target!r}")
    if target[0] <= outputs[0] <= target[1]:
        raise ValueError(f"target must not contain the prediction {outputs[0]:g}, got {target!r}")
    return RangeGoal(float(target[0]), float(target[1]))
