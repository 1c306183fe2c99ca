"""Search for the split of a node after which linear models fit best."""

from dataclasses import dataclass, replace

import numpy as np

from ngdt._methods.linear_leaves.ridge import Sums
from ngdt._methods.model_tree.splits import divide, split_errors, variance_gains
from ngdt._util.parallel import map_ranges

# Number of quantiles of each feature at which a node is split.
_N_CUTS = 60
# Largest number of features whose slopes differ on the two sides while splits are compared, and
# half of the largest number of features to split by. With 81 features of 400 samples, twice as many
# were less accurate.
_MAX_FEATURES = 30
# Number of features whose best splits are compared by the splits after them, and the largest number
# of samples for it.
_AHEAD_FEATURES, _AHEAD_SAMPLES = 8, 4000
# Share of the squared residuals by which rounding may divide errors. It is less than the kernel's,
# which finds all errors that near to the least one.
_ROUNDING = 1e-10
# Number of multiplications from which it pays to start a thread.
_MIN_WORK = 10_000_000


@dataclass(frozen=True, eq=False)
class NodeSamples:
    """Samples of a node, or some of them, as the search for its split needs them.

    Attributes
    ----------
    Z : ndarray of shape (n, p)
        Scaled features.
    y, residual : ndarray of shape (n, n_outputs)
        Targets, and what the linear model of the node leaves of them.
    weight : ndarray of shape (n,)
    slope : ndarray of shape (n_outputs, p)
        Of the model.
    columns : ndarray of shape (p, n)
        Values of each feature.
    order : ndarray of int32, shape (p, n)
        The samples by each feature, ascending.
    """

    Z: np.ndarray
    y: np.ndarray
    residual: np.ndarray
    weight: np.ndarray
    slope: np.ndarray
    columns: np.ndarray
    order: np.ndarray

    @property
    def error(self):
        """Sum of squared residuals."""
        return self.weight @ (self.residual**2).sum(axis=1)

    def limit(self, n_splits=1):
        """Error from which so many splits do not pay by Akaike's information criterion."""
        # Each second model has as many parameters as the first, and each split has one.
        n_outputs, p = self.slope.shape
        n_parameters = min(p, _MAX_FEATURES) + 1 + 1 / n_outputs
        return self.error * np.exp(-2.0 * n_splits * n_parameters / len(self.y))

    def is_right(self, feature, n_left):
        """Mask of the samples on the right of a split."""
        found = np.zeros(len(self.y), bool)
        found[self.order[feature, n_left:]] = True
        return found

    def divide(self, is_right):
        """The samples where a mask is false, and those where it is true."""
        for side, order in zip((~is_right, is_right), divide(self.order, is_right), strict=True):
            yield replace(
                self, Z=self.Z[side], y=self.y[side], residual=self.residual[side],
                weight=self.weight[side], columns=np.compress(side, self.columns, axis=1),
                order=order)


@dataclass(frozen=True)
class SplitSearch:
    """Search for the split after which two linear models of the residuals have the least error.

    Of many features, the models have those with the largest slopes in the node, and splits are by
    those that reduce the variance of the targets, or of the residuals, most: the cost grows by the
    number of features, not by its cube.

    Parameters
    ----------
    penalty : float
        Of the squared differences of slopes from those of the node.
    least : int
        Number of samples on each side.
    n_jobs : int, default=1
    """

    penalty: float
    least: int
    n_jobs: int = 1

    def best(self, node):
        """The best split if it pays: its feature and the number of samples on the left."""
        splits = self._best_of_features(node, node.limit(), 1)
        return splits[0][1:] if splits else None

    def look_ahead(self, node, random):
        """The split, of the best ones of several features, with the best splits below it.

        It need not pay alone, if it does with the splits of both children.
        """
        splits = self._best_of_features(node, np.inf, _AHEAD_FEATURES)
        if not splits:
            return None
        rights = [node.is_right(*split) for _, *split in splits]
        search, part = self, node
        if len(node.y) > _AHEAD_SAMPLES:
            is_seen = np.zeros(len(node.y), bool)
            is_seen[random.choice(len(node.y), _AHEAD_SAMPLES, replace=False)] = True
            _, part = node.divide(is_seen)
            rights = [is_right[is_seen] for is_right in rights]
            search = replace(self, least=max(1, self.least * _AHEAD_SAMPLES // len(node.y)))
        errors = [search._error_ahead(part, is_right) for is_right in rights]
        best = _first_of_least(errors, part)
        error, *split = splits[best]
        return split if error < node.limit() or errors[best] < part.limit(3) else None

    def _error_ahead(self, node, is_right):
        """Error after a split and the best splits of its children."""
        if is_right.all() or not is_right.any():
            return np.inf    # none of the samples that are looked at is on the other side
        sides = list(node.divide(is_right))
        values, steps = fit_sides(
            [Sums.of(side.Z, side.residual, side.weight) for side in sides],
            np.zeros_like(node.slope), self.penalty)
        error = self.penalty * (steps**2).sum()
        for side, value, step in zip(sides, values, steps, strict=True):
            child = replace(
                side, residual=side.residual - value - side.Z @ step.T, slope=side.slope + step)
            splits = self._best_of_features(child, child.limit(), 1)
            error += splits[0][0] if splits else child.error
        return error

    def _best_of_features(self, node, limit, n_splits):
        """The best splits of so many features that are below a limit, by feature.

        Each is its error, its feature and the number of samples on the left.
        """
        Z, columns, order = node.Z, node.columns, node.order
        features = np.arange(Z.shape[1])
        if not len(features):
            return []
        if len(features) > _MAX_FEATURES:
            largest = np.argsort(-np.abs(node.slope).sum(axis=0), kind="stable")[:_MAX_FEATURES]
            Z, features = Z[:, np.sort(largest)], self._promising(node)
            columns, order = columns[features], order[features]
        rows = np.concatenate((np.ones((len(Z), 1)), Z, node.residual), axis=1)
        rows = np.ascontiguousarray(np.sqrt(node.weight)[:, None] * rows)
        parts = map_ranges(
            lambda start, stop: split_errors(
                rows, columns[start:stop], order[start:stop], self.penalty, node.y.shape[1],
                _N_CUTS, self.least, limit, n_splits > 1),
            len(features), self.n_jobs, 1 + _MIN_WORK // (rows.size * rows.shape[1]))
        errors, n_left = (np.concatenate(part) for part in zip(*parts, strict=True))
        cuts = _first_of_least(errors, node)
        errors = errors[np.arange(len(cuts)), cuts]
        best = [_first_of_least(errors, node)] if n_splits == 1 else np.sort(
            np.argsort(errors, kind="stable")[:n_splits])
        return [(float(errors[j]), int(features[j]), int(n_left[j, cuts[j]]))
                for j in best if errors[j] < limit]

    def _promising(self, node):
        """Features that reduce the variance of the residuals or of the targets most."""
        weight, total = node.weight, node.weight.sum()
        deviations = np.stack(
            [weight[:, None] * (each - weight @ each / total) for each in (node.residual, node.y)],
            axis=1)
        gains = variance_gains(
            node.columns, node.order, deviations, weight, total, self.least)
        return np.unique(np.argsort(-gains, axis=1, kind="stable")[:, :_MAX_FEATURES])


def _first_of_least(errors, node):
    """Index of the least error along the last axis; of errors that rounding divides, the first.

    Several features often part the samples of a small node alike: in other units, the last digits
    would choose another one.
    """
    reach = np.min(errors, axis=-1, keepdims=True) + _ROUNDING * node.error
    return (errors <= reach).argmax(axis=-1)


def fit_sides(nodes, prior, penalty):
    """Values and slopes of the models of some nodes, drawn to the slopes of the one above."""
    sums = Sums(np.array([each.products for each in nodes]), nodes[0].n_outputs)
    z, y, products, zy, _ = sums.centered()
    step = np.linalg.solve(products + penalty * np.eye(len(prior.T)), zy - products @ prior.T)
    slopes = prior + step.transpose(0, 2, 1)
    return y - (slopes @ z[..., None])[..., 0], slopes
