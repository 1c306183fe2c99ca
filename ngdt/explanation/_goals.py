"""Goals of changes: predictions to reach, and the inequalities of linear leaves that reach them."""

from dataclasses import dataclass
from numbers import Real

import numpy as np


class ClassGoal:
    """A class of several.

    Parameters
    ----------
    classes : ndarray
    best : int
        Index of the class that is predicted.
    target : label or None
        None stands for all other classes.
    """

    def __init__(self, classes, best, target):
        self.wanted = np.array([
            target is None or (np.ndim(target) == 0 and label == target) for label in classes],
            dtype=bool)
        if not self.wanted.any() or (self.wanted[best] and target is not None):
            others = np.delete(classes, best).tolist()
            raise ValueError(f"target must be one of the other classes {others}, got {target!r}")
        self.wanted[best] = False

    def accepts(self, leaf, outputs):
        """Return whether samples of these leaves and outputs meet the goal, bool of shape (n,)."""
        return self.wanted[outputs.argmax(axis=1)]

    def conditions(self, tree, leaf):
        """Sets of inequalities ``slopes @ z <= limits``; a sample of a leaf has to meet one set.

        A class is predicted if its logit exceeds those of all classes not wanted, or equals those
        of later ones.

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
        is_strict : bool or ndarray of bool, shape (n_conditions,)
            Whether equality does not suffice.
        """
        values, slopes = tree.values[leaf], tree.slopes[leaf]
        others = np.flatnonzero(~self.wanted)
        for k in np.flatnonzero(self.wanted):
            yield (slopes[others] - slopes[k], values[k] - values[others],
                   np.abs(values[k]) + np.abs(values[others]), others < k)


class RangeGoal:
    """A number from a range.

    Parameters
    ----------
    outputs : ndarray of shape (n_outputs,)
        The prediction.
    target : tuple of (float, float)
    """

    def __init__(self, outputs, target):
        if len(outputs) > 1:
            raise ValueError(f"target needs a model of a single target, not of {len(outputs)}")
        is_range = np.shape(target) == (2,) and all(isinstance(end, Real) for end in target)
        if not (is_range and target[0] <= target[1]) or target[0] <= outputs[0] <= target[1]:
            raise ValueError(
                "target must be a range of predictions (low, high) without the present one, "
                f"{outputs[0]:g}, whose ends may be infinite, got {target!r}")
        self.low, self.high = map(float, target)

    def accepts(self, leaf, outputs):
        """Return whether samples meet the goal, as for `ClassGoal`."""
        return (self.low <= outputs[:, 0]) & (outputs[:, 0] <= self.high)

    def conditions(self, tree, leaf):
        """Sets of inequalities, as for `ClassGoal`; predictions cut at a limit may need none."""
        value, slopes = tree.values[leaf, 0], tree.slopes[leaf, 0]
        least, most = (-np.inf, np.inf) if tree.ranges is None else tree.ranges[leaf, 0]
        ends = [(1.0, self.high - value)] * bool(most > self.high)
        ends += [(-1.0, value - self.low)] * bool(least < self.low)
        signs, limits = np.reshape(ends, (-1, 2)).T
        yield np.outer(signs, slopes), limits, np.abs(limits) + 2 * np.abs(value), False


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


def conditions_of(goal, tree, leaf):
    """Sets of inequalities, as for `ClassGoal`; of a constant leaf, an empty one or none at all."""
    if tree.slopes is not None and not isinstance(goal, LeafGoal):
        return goal.conditions(tree, leaf)
    is_met = goal.accepts(np.array([leaf]), tree.values[[leaf]])[0]
    return [(np.empty((0, tree.n_features)), np.empty(0), np.empty(0), False)] * bool(is_met)
