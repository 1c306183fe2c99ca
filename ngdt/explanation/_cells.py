"""A near point at which a forest meets a goal: a search among the cells of the forest.

The leaves that a point reaches in all trees have an intersection, its cell: a polytope, in which
the prediction is the same. There are too many cells to look at all, so that the point found may not
be the nearest one.
"""

import numpy as np

from ngdt.explanation._regions import Region, Regions, distance_of, inequalities, nearest_in

# Points on the way to one that meets the goal. Beyond one that suffices for a tree, there may be
# some that do for the forest.
_SHARES = np.linspace(0.0, 1.0, 65)[1:]
_FACTORS = np.concatenate([_SHARES, [1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0]])
# Number of points from which the search is begun, the nearest ones.
_N_STARTS = 4
# Least gain of a step of the search, and distance from a boundary that counts as none.
_MIN_GAIN, _AT_BOUNDARY = 1e-3, 1e-6


class Cells:
    """The cells of a forest in which samples meet a goal.

    Parameters
    ----------
    trees : sequence of Tree
        With constant leaves.
    direction : ClassGoal or RangeGoal
        What single trees are to predict on the way: the goal, or numbers on the other side of an
        end of its range.
    meets : callable
        Takes points, and returns whether the forest meets the goal at each.
    unit : ndarray of shape (n_features,)
        Size of the features, such as their standard deviations.
    low, high : float or ndarray of shape (n_features,)
        Limits of the points. A sample beyond them may stay where it is.
    """

    def __init__(self, trees, direction, meets, unit, low, high):
        self._trees, self._meets, self._unit = trees, meets, unit
        self._regions = [Regions(tree, direction, unit, low, high) for tree in trees]
        self._low, self._high = low, high

    def near(self, x, scale, known=()):
        """A near point that meets the goal.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
        scale : ndarray of shape (n_features,)
            A feature of scale zero does not change.
        known : sequence of ndarray of shape (n_features,), default=()
            Points that meet the goal. None that is farther is returned.

        Returns
        -------
        point : ndarray of shape (n_features,) or None
            None if no such point was found.
        distance : float
        """
        starts = [*known, *self._starts(x, scale)]
        starts.sort(key=lambda point: distance_of(point - x, scale))
        best, least = None, np.inf
        for start in starts[:_N_STARTS]:
            point, distance = self._descend(x, scale, start)
            if distance < least:
                best, least = point, distance
        return best, least

    def _starts(self, x, scale):
        """Points that meet the goal, on the way to the nearest ones for each tree and beyond."""
        low, high = np.minimum(self._low, x), np.maximum(self._high, x)
        nearest = [regions.nearest(x, scale)[0] for regions in self._regions]
        steps = [point - x for point in nearest if point is not None]
        for step in [*steps, *([np.mean(steps, axis=0)] if steps else [])]:
            points = np.clip(x + _FACTORS[:, None] * step, low, high)
            is_met = self._meets(points)
            if is_met.any():
                yield points[is_met.argmax()]

    def _descend(self, x, scale, point):
        """From a point to nearer ones, as long as there are any beside its cell."""
        distance = distance_of(point - x, scale)
        while True:
            before = distance
            for candidate in self._beside(x, scale, point):
                if candidate is not None and distance_of(candidate - x, scale) < distance:
                    point, distance = candidate, distance_of(candidate - x, scale)
            if not distance < (1 - _MIN_GAIN) * before:
                return point, distance

    def _beside(self, x, scale, point):
        """The first point on the way to another one, and the nearest ones of cells next to it."""
        between = x + _SHARES[:, None] * (point - x)
        between[-1] = point     # exactly, so that one of them meets the goal
        between = between[self._meets(between).argmax()]
        region = self._cell(between)
        nearest = self._nearest_in(region, x, scale)
        yield from (between, nearest)
        if nearest is None:
            return
        # Without one of the inequalities that keep it from the sample.
        room = region.b - region.A @ nearest
        size = np.abs(region.A) @ self._unit
        for row in np.flatnonzero(room <= _AT_BOUNDARY * size):
            yield self._nearest_in(
                Region(*(np.delete(part, row, axis=0) for part in region[:4]), self._unit),
                x, scale)

    def _cell(self, point):
        parts = [
            inequalities(tree, int(tree.apply(point[None])[0])) for tree in self._trees]
        A, b, is_right = map(np.concatenate, zip(*parts, strict=True))
        return Region(A, b, is_right, np.abs(b), self._unit)

    def _nearest_in(self, region, x, scale):
        limits = np.minimum(self._low - x, 0.0), np.maximum(self._high - x, 0.0)
        return nearest_in(region, x, scale, limits, self._meets)[0]
