"""SGD on the stable bound as Norouzi et al. (2015), Algorithm 1, reads: numpy, float64, all leaves.

The threshold of a split is the weight of a constant feature of value -1, so a row of `rows` is
(w, b), and a sample is (x, -1) times its norm clip.
"""

import numpy as np

from reference import inference as naive

THETA_GRADIENTS = {
    "log_loss": lambda theta, y: np.exp(theta - theta.max()) / np.exp(theta - theta.max()).sum()
    - (np.arange(len(theta)) == int(y[0])),
    "squared_error": lambda theta, y: 2 * (theta - y),
}


class NaiveTrainer:
    """The reference for `SGDTrainer`; takes the same parameters."""

    def __init__(self, tree, weights, thresholds, values, X, y, weight, scaling, loss, *, radius,
                 best_assignment, norm_limit, nu, leaf_limit, max_leaf_step):
        self.tree, self.loss, self.y, self.weight = tree, loss, y, weight
        self.kind = "fast" if radius == 1 else "full"
        self.best_assignment = best_assignment
        self.nu = nu
        self.leaf_limit, self.max_leaf_step = leaf_limit, max_leaf_step
        x = (naive.dense(X) - scaling.center) / scaling.scale
        samples = np.column_stack([x, -np.ones(len(x))])
        norms = np.linalg.norm(samples, axis=1, keepdims=True)
        self.samples = samples * np.minimum(1, norm_limit / norms)
        self.rows = np.column_stack([weights, thresholds]).astype(np.float64)
        self.values = values.astype(np.float64)
        self.directions = naive.directions(tree)
        self.fixed = None
        self.project(range(tree.n_internal))

    def project(self, nodes):
        for i in nodes:
            norm = np.linalg.norm(self.rows[i])
            if norm**2 > self.nu:
                self.rows[i] *= np.sqrt(self.nu) / norm

    def search(self, batch):
        """Navigated, loss-augmented and assigned leaf of each sample, losses and prices."""
        scores = self.samples[batch] @ self.rows.T
        table = naive.loss_table(self.loss, self.values, self.y[batch])
        prices = naive.prices(self.tree, scores)
        signs = naive.decisions(scores)
        own = naive.leaves(self.tree, signs)
        augmented = np.array([
            self.largest(table[i] - prices[i], own[i], naive.reachable(
                self.tree, signs[i], self.kind)) for i in range(len(batch))])
        if self.fixed is not None:
            assigned = self.fixed[batch]
        elif self.best_assignment:
            assigned = np.array([
                self.largest(-table[i] - prices[i], own[i], np.arange(self.tree.n_leaves))
                for i in range(len(batch))])
        else:
            assigned = own
        return scores, table, prices, own, augmented, assigned

    @staticmethod
    def largest(worth, own, leaves):
        """The leaf that is worth most; the navigated one wins ties, others must not tie."""
        best = worth[leaves].max()
        if worth[own] == best:
            return own
        assert (worth[leaves] > best - 1e-12).sum() == 1, "the data of this test have a tie"
        return leaves[worth[leaves].argmax()]

    def assign(self, samples):
        self.fixed = None
        assigned = self.search(samples)[-1]
        self.fixed = np.full(len(self.samples), -1)
        self.fixed[samples] = assigned

    def code(self, leaf, signs):
        """Decisions that lead to a leaf, as they are off the path to it."""
        path = self.directions[leaf]
        return np.where(path != 0, path, signs)

    def step(self, batch, rate, leaf_rate):
        """One mini-batch; returns per sample: weight, loss, bound, whether it moves a row."""
        n, weight, samples = len(batch), self.weight[batch], self.samples[batch]
        scores, table, prices, own, augmented, assigned = self.search(batch)
        signs = naive.decisions(scores)
        g, h = self.code(augmented, signs), self.code(assigned, signs)
        gradient = ((g - h) * weight[:, None]).T @ samples / n
        touched = np.flatnonzero((g != h).any(axis=0))
        for i in touched:
            self.rows[i] -= rate * gradient[i]
        self.project(touched)
        self.learn_leaves(batch, augmented, leaf_rate)
        each = np.arange(n)
        bound = (table - prices)[each, augmented] + prices[each, assigned]
        return weight, table[each, own], bound, (g != h).any(axis=1), own

    def learn_leaves(self, batch, augmented, rate):
        values = self.values.copy()
        for leaf in np.unique(augmented):
            here = batch[augmented == leaf]
            weight = self.weight[here]
            gradients = np.array([
                THETA_GRADIENTS[self.loss](self.values[leaf], y) for y in self.y[here]])
            size = min(rate * weight.sum() / len(batch), self.max_leaf_step)
            values[leaf] -= size * np.average(gradients, axis=0, weights=weight)
            values[leaf] = np.clip(values[leaf], -self.leaf_limit, self.leaf_limit)
        self.values = values

    def epoch(self, order, rates, theta_rates, batch_size):
        visits = [
            self.step(order[k * batch_size:(k + 1) * batch_size], rates[k], theta_rates[k])
            for k in range(len(rates))]
        weight, loss, bound, moves, own = map(np.concatenate, zip(*visits, strict=True))
        return {
            "loss": np.average(loss, weights=weight),
            "bound": np.average(bound, weights=weight),
            "gradient_share": moves.mean(),
            "n_active_leaves": len(np.unique(own)),
        }
