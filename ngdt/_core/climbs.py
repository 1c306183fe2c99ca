"""Leaves that can be reached from others by raising some features: cells and linear programs.

The cell of a leaf is an intersection of half spaces. A sample climbs from one leaf to another if
raising features of direction 1, and lowering those of direction -1, leads it from the first cell
into the second.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, nnls

from ngdt._util.arrays import row_blocks

# Violation of the splits, in units in which all numbers are about 1, from which a climb is
# impossible. Less than that may be a rounding error, in a linear program or in scores.
TOLERANCE = 1e-7
# Size of the samples, in these units, for which that holds whatever a solver has rounded.
_REACH = 1e4
# Room of the splits, in these units, that a sample within both cells should have: a thousandth of
# what is usual, but far more than what is rounded.
_ROOM = 1e-4
# Residual of non-negative least squares below which there is no sample, or only a very far one.
_ROUNDED = 1e-10
# Numbers of a linear program of several pairs: larger ones are no faster by pair.
_BATCH_SIZE = 2**14
# Rounding of a threshold that is divided by a weight.
_ROUNDING = 4 * np.finfo(np.float64).eps


class Climbs:
    """Climbs between the leaves of a tree, by raising and lowering features.

    Parameters
    ----------
    tree : Tree
    direction : ndarray of shape (n_features,)
        1 for features that may be raised, -1 for those that may be lowered, 0 for others.

    Attributes
    ----------
    possible : ndarray of bool, shape (n_leaves, n_leaves)
        False where no sample of the row's leaf can climb to the column's leaf, as the split at
        which they part, or splits on single features, tell without a linear program.
    is_box : ndarray of bool, shape (n_leaves,)
        Leaves whose cells have splits on single features only. Between two of them, a climb is
        possible if `possible` says so: no linear program has to be solved.
    """

    def __init__(self, tree, direction):
        weights = tree.dense_weights()
        self.tree, self.path = tree, tree.ancestors()
        self.possible = _parting(self.path, weights * direction)
        is_single = np.count_nonzero(weights, axis=1) == 1
        self._exclude_by_single_features(weights, direction, is_single)
        self.is_box = abs(self.path) @ (~is_single).astype(np.int64) == 0
        self.used = np.flatnonzero(weights.any(axis=0))
        self.rows, self.limits, self.units = _scaled(weights[:, self.used], tree.thresholds)
        self.moving = np.flatnonzero(direction[self.used])
        self.sign = np.asarray(direction, dtype=np.float64)[self.used][self.moving]

    def _exclude_by_single_features(self, weights, direction, is_single):
        """Exclude climbs between cells whose ranges of a feature do not allow them."""
        for j in np.flatnonzero(weights[is_single].any(axis=0)):
            low, high = self._ranges(np.flatnonzero(is_single & (weights[:, j] != 0)),
                                     weights[:, j])
            is_empty = low >= high      # no sample reaches such a leaf
            self.possible[is_empty], self.possible[:, is_empty] = False, False
            if direction[j] >= 0:       # not down
                self.possible &= low[:, None] < high
            if direction[j] <= 0:       # not up
                self.possible &= high[:, None] > low

    def _ranges(self, nodes, weight):
        """Limits of a feature in each cell: all its values are above `low`, none above `high`."""
        low, high = np.full((2, self.tree.n_leaves), [[-np.inf], [np.inf]])
        path = self.path.tocsc()
        for node in nodes:
            with np.errstate(over="ignore"):
                limit = self.tree.thresholds[node] / weight[node]
            # Powers of two divide without rounding.
            room = 0.0 if abs(np.frexp(weight[node])[0]) == 0.5 else _ROUNDING * abs(limit)
            at = slice(path.indptr[node], path.indptr[node + 1])
            leaves, is_above = path.indices[at], path.data[at] * np.sign(weight[node]) > 0
            above, below = leaves[is_above], leaves[~is_above]
            least = limit - room
            if weight[node] < 0:        # the limit itself is on the left, which is above
                least = np.nextafter(least, -np.inf)
            low[above] = np.maximum(low[above], least)
            high[below] = np.minimum(high[below], limit + room)
        return low, high

    def can_climb(self, low, high):
        """Tell whether samples can climb from leaf to leaf.

        Parameters
        ----------
        low, high : ndarray of int, shape (n_pairs,)

        Returns
        -------
        ndarray of bool, shape (n_pairs,)
            False if `violations` are larger than `TOLERANCE`.
        """
        found = self.is_box[low] & self.is_box[high] & self.possible[low, high]
        asked = np.flatnonzero(self.possible[low, high] & ~found)
        answers = [self._decide(i, j) for i, j in zip(low[asked], high[asked], strict=True)]
        found[asked] = [answer is True for answer in answers]
        unsure = asked[[answer is None for answer in answers]]
        if len(unsure):
            found[unsure] = self.violations(low[unsure], high[unsure])[0] <= TOLERANCE
        return found

    def _decide(self, low, high):
        """Tell whether a climb is possible, or None if a linear program has to.

        By Lawson and Hanson's least distance programming: non-negative least squares find the
        nearest sample within both cells, or prices that prove that there is none. Of few splits,
        that takes a tenth of the time of a linear program.
        """
        rows, limits = (np.concatenate(pair) for pair in zip(
            self._half_spaces(low, 0.0), self._half_spaces(high, self.sign), strict=True))
        n, p = rows.shape[1], len(self.used)
        bounds = np.eye(n)[p:]              # moves are not negative
        for room in (_ROOM, -TOLERANCE):
            target = np.append(np.zeros(n), 1.0)
            system = np.vstack([
                np.concatenate([-rows, bounds]).T,
                np.concatenate([room - limits, np.zeros(len(bounds))])])
            try:
                price, _ = nnls(system, target)
            except RuntimeError:            # too many iterations
                return None
            rest = system @ price - target
            if rest[-1] < -_ROUNDED:
                sample = rest[:-1] / -rest[-1]
                sample[p:] = np.maximum(sample[p:], 0.0)
                if (rows @ sample <= limits - 0.5 * max(room, 0.0)).all():
                    return True
            price = price[:len(rows)]
            left_over = price @ rows
            left_over[p:] = np.minimum(left_over[p:], 0.0)
            if room < 0.0 and -(price @ limits) - _REACH * np.abs(left_over).sum() > (
                    TOLERANCE * price.sum()):
                return False
        return None

    def _half_spaces(self, leaf, sign):
        """Rows and limits of the splits above a leaf, for a sample and its moves."""
        at = slice(*self.path.indptr[leaf:leaf + 2])
        nodes, side = self.path.indices[at], self.path.data[at].astype(np.float64)
        rows = -side[:, None] * self.rows[nodes]
        return np.hstack([rows, rows[:, self.moving] * sign]), -side * self.limits[nodes]

    def violations(self, low, high, is_exact=False):
        """Least violation of the splits with which a sample climbs from leaf to leaf.

        Parameters
        ----------
        low, high : ndarray of int, shape (n_pairs,)
            Leaves to climb from, and to.
        is_exact : bool, default=False
            Whether samples on the left of a split, where they may be on its threshold, must not
            violate it: for points between cells that touch.

        Returns
        -------
        violation : ndarray of shape (n_pairs,)
            The climb is impossible if it is larger than `TOLERANCE`. Below zero there are samples
            within both cells.
        points : ndarray of shape (n_pairs, 2, n_features)
            The two samples; features that no split uses are zero.
        """
        violation = np.empty(len(low))
        points = np.zeros((len(low), 2, self.tree.n_features))
        per_pair = (len(self.used) + len(self.moving)) * 2 * max(1, self.tree.max_depth)
        for part in row_blocks((len(low), per_pair), _BATCH_SIZE):
            violation[part], points[part][:, :, self.used] = self._solve(
                low[part], high[part], is_exact)
        return violation, points

    def _solve(self, low, high, is_exact):
        """Solve one linear program for several pairs, which have nothing in common."""
        n, p, q = len(low), len(self.used), len(self.moving)
        # Variables of a pair: the lower sample, how far each feature moves, the violation.
        width = p + q + 1
        pair, matrix, limits = [], [], []
        for leaves, moves in ((low, 0.0), (high, self.sign)):
            path = self.path[leaves]
            side = path.data.astype(np.float64)[:, None]
            rows = -side * self.rows[path.indices]
            matrix.append(np.hstack([
                rows, rows[:, self.moving] * moves, -1.0 * (side > 0 if is_exact else side != 0)]))
            limits.append(-side[:, 0] * self.limits[path.indices])
            pair.append(np.repeat(np.arange(n), np.diff(path.indptr)))
        pair, matrix = np.concatenate(pair), np.concatenate(matrix)
        columns = pair[:, None] * width + np.arange(width)
        blocks = sparse.csr_array(
            (matrix.ravel(), columns.ravel(), np.arange(len(matrix) + 1) * width),
            shape=(len(matrix), n * width))
        blocks.eliminate_zeros()
        bounds = np.full((n, width, 2), [-np.inf, np.inf])
        bounds[:, p:-1, 0], bounds[:, -1, 0] = 0.0, -1.0
        solved = linprog(
            np.tile(np.arange(width) == width - 1, n).astype(np.float64), A_ub=blocks,
            b_ub=np.concatenate(limits), bounds=bounds.reshape(-1, 2), method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9})
        if solved.status != 0:      # nothing is known, so that every climb counts as possible
            return np.zeros(n), np.zeros((n, 2, p))
        found = solved.x.reshape(n, width)
        violation = found[:, -1]
        if not is_exact:
            violation = np.minimum(violation, _proved(
                blocks, np.concatenate(limits), -solved.ineqlin.marginals, pair, width, p))
        points = np.repeat(found[:, None, :p], 2, axis=1)
        points[:, 1, self.moving] += found[:, p:-1] * self.sign
        return violation, points * self.units


def _proved(blocks, limits, price, pair, width, n_free):
    """Violation that the prices of the rows prove, for samples and moves up to the reach.

    Each price times its row is a bound, and so is their sum, where the variables cancel. What does
    not cancel, by rounding, is multiplied by the reach.
    """
    price = np.maximum(price, 0.0)
    total = np.bincount(pair, price, pair[-1] + 1)
    rest = (blocks.T @ price).reshape(-1, width)[:, :-1]
    rest[:, n_free:] = np.minimum(rest[:, n_free:], 0.0)    # of moves, which are not negative
    bound = -np.bincount(pair, price * limits) - _REACH * np.abs(rest).sum(axis=1)
    return np.divide(bound, total, out=np.full(len(total), -1.0), where=total > 0.5)


def _parting(path, upward):
    """Mask of the pairs of leaves that a climb can join, by the split at which they part.

    `upward` are the weights times the directions. The score at a split whose weights are not
    negative never falls, rounding included.
    """
    sides = path.toarray()
    left, right = (sides < 0).astype(np.float32), (sides > 0).astype(np.float32)
    rises, falls = (upward > 0).any(axis=1), (upward < 0).any(axis=1)
    return (left * rises) @ right.T + (right * falls) @ left.T > 0


def _scaled(weights, thresholds):
    """Weights and thresholds in units in which they are about 1, and the units of the features."""
    rows, units = weights, np.ones(weights.shape[1])
    limits = thresholds.copy()
    for _ in range(3):
        size = np.abs(rows).max(axis=0, initial=0.0)
        rows, units = rows / size, units / size
        size = np.abs(rows).max(axis=1, initial=0.0)
        size[size == 0] = 1.0
        rows, limits = rows / size[:, None], limits / size
    # The scale of the samples is free: all features and thresholds have it in common.
    scale = np.abs(limits).max(initial=0.0) or 1.0
    return rows, limits / scale, units * scale


def monotone_output(values, output=None):
    """Output that is to be monotone: a column of the leaf values, or the log-odds of two classes.

    The probability of the second class depends on nothing else.

    Parameters
    ----------
    values : ndarray of shape (n, n_outputs)
    output : int or None, default=None
        A column. None takes the only one, or the second of two minus the first.

    Returns
    -------
    ndarray of shape (n,)
    """
    if output is not None:
        return values[:, output]
    return values[:, 0] if values.shape[1] == 1 else values[:, 1] - values[:, 0]
