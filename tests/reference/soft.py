"""Soft routing and its training as the definitions read: numpy, float64, a sum over all leaves.

A row of `rows` is (w, -b), and a sample is (x, 1). Where less than `cutoff` of a sample would go to
one side of a node, the decision there is hard: the tables of decisions hold a 0 or a 1, and
everything else follows from them.
"""

import numpy as np
from scipy.special import expit

from reference import inference as naive

ADAM = dict(betas=(0.9, 0.999), epsilon=1e-8)


def decisions(tree, scores, gamma, cutoff=0.0):
    """Probability to go right at each node, Hehn (2020), eq. 1: (n, m). Ties go right."""
    right = expit(np.clip(gamma * scores, -20, 20))
    if cutoff > 0:
        for sample in right:
            _harden(tree, sample, 0 if tree.n_internal else ~0, 1.0, cutoff)
    return right


def _harden(tree, right, node, reach, cutoff):
    if node < 0 or reach == 0:
        return
    if reach * min(right[node], 1 - right[node]) < cutoff:
        right[node] = right[node] >= 0.5
    _harden(tree, right, tree.children_left[node], reach * (1 - right[node]), cutoff)
    _harden(tree, right, tree.children_right[node], reach * right[node], cutoff)


def reach(tree, right):
    """mu, the product along the path to each leaf: (n, m + 1)."""
    way = naive.directions(tree)[None]
    right = right[:, None]
    return np.where(way > 0, right, np.where(way < 0, 1 - right, 1.0)).prod(axis=2)


def slope(tree, right, gamma):
    """Derivative of mu of each leaf in the score of each node: (n, m + 1, m)."""
    way = naive.directions(tree)[None]
    mu = reach(tree, right)[:, :, None]
    right = right[:, None]
    return gamma * mu * np.where(way > 0, 1 - right, np.where(way < 0, -right, 0.0))


class Categorical:
    """Eq. 13 with a prior."""

    is_likelihood = True

    def __init__(self, parameters, y, prior, prior_weight):
        self.parameters = parameters.astype(np.float64)
        self.y, self.prior, self.prior_weight = y, prior, prior_weight
        self.mean = np.zeros_like(self.parameters)

    def density(self, samples):
        return self.parameters[:, self.y[samples, 0].astype(int)].T

    def update(self, batch, share, leaf_rate, adam):
        self.mean += leaf_rate * (self.collect(batch, share) - self.mean)

    def collect(self, samples, share):
        """Means over the batch, `share` being what each leaf (column) is responsible for."""
        classes = self.y[samples] == np.arange(len(self.prior))
        return share.T @ classes

    def fit(self):
        total = self.mean + self.prior_weight * self.prior
        self.parameters = total / total.sum(axis=1, keepdims=True)


class LossLeaves:
    """Predictions of leaves, constant or linear, and the gradient of their losses."""

    is_likelihood = False

    def __init__(self, parameters, y, loss, penalty):
        self.loss, self.y, self.penalty = loss, y, penalty
        self.n_leaves, self.n_targets = len(parameters) // y.shape[1], y.shape[1]
        self.parameters = parameters.astype(np.float64)
        self.first, self.second = np.zeros((2, *parameters.shape))

    def features(self, batch):
        """Features of the samples that the trainer sets; constant leaves have the last one, 1."""
        return self.samples[batch][:, -self.parameters.shape[1]:]

    def predictions(self, batch):
        flat = self.features(batch) @ self.parameters.T
        return flat.reshape(len(batch), self.n_leaves, self.n_targets)

    def density(self, batch):
        y = self.y[batch]
        return -np.stack([self.loss.value(f, y) for f in self.predictions(batch).swapaxes(0, 1)], 1)

    def gradient(self, batch, share):
        y = self.y[batch]
        by_output = np.stack([
            self.loss.values_gradient(f, y) for f in self.predictions(batch).swapaxes(0, 1)], 1)
        total = np.einsum("bl,blt,bj->ltj", share, by_output, self.features(batch))
        slopes = self.parameters * (np.arange(self.parameters.shape[1])
                                    < self.parameters.shape[1] - 1)
        return total.reshape(self.parameters.shape) + 2 * self.penalty * slopes

    def update(self, batch, share, leaf_rate, adam):
        step, self.first, self.second = adam(
            self.gradient(batch, share), self.first, self.second)
        self.parameters -= leaf_rate * step

    def fit(self):
        pass


class NaiveTrainer:
    """The reference for `SoftTrainer`, with the routing in it."""

    def __init__(self, tree, weights, model, X, weight, scaling, *, q, cutoff=0.0, betas=None,
                 epsilon=None, mask=None, penalty=0.0, refit_every_step=True):
        self.tree, self.model, self.weight = tree, model, weight
        x = (naive.dense(X) - scaling.center) / scaling.scale
        self.samples = model.samples = np.column_stack([x, np.ones(len(x))])
        self.rows = weights.astype(np.float64)
        self.first, self.second = np.zeros_like(self.rows), np.zeros_like(self.rows)
        self.q, self.cutoff = q, cutoff
        self.beta1, self.beta2 = betas or ADAM["betas"]
        self.epsilon = ADAM["epsilon"] if epsilon is None else epsilon
        self.mask, self.penalty = 1.0 if mask is None else mask, penalty
        self.refit_every_step, self.n_steps = refit_every_step, 0

    def right(self, batch, gamma):
        return decisions(self.tree, self.samples[batch] @ self.rows.T, gamma, self.cutoff)

    def likelihood(self, batch, gamma):
        """Eq. 2 for the targets, sample by sample."""
        mu = reach(self.tree, self.right(batch, gamma))
        return (mu * self.model.density(batch)).sum(axis=1)

    def losses(self, batch, gamma):
        likelihood = self.likelihood(batch, gamma)
        if not self.model.is_likelihood:
            return -likelihood
        return (1 - likelihood**self.q) / self.q if self.q > 0 else -np.log(likelihood)

    def loss(self, batch, gamma):
        return np.average(self.losses(batch, gamma), weights=self.weight[batch])

    def share(self, batch, gamma):
        """Responsibility of each leaf: eq. 10, times likelihood**q.

        Where leaves have losses, the probability of reaching the leaf.
        """
        mu = reach(self.tree, self.right(batch, gamma))
        joint = mu * self.model.density(batch) if self.model.is_likelihood else mu
        return self.outer(batch, gamma)[:, None] * joint / self.weight[batch].sum()

    def outer(self, batch, gamma):
        """Minus the derivative of the loss in the likelihood, times the sample weight."""
        if not self.model.is_likelihood:
            return self.weight[batch]
        return self.weight[batch] * self.likelihood(batch, gamma) ** (self.q - 1)

    def gradient(self, batch, gamma):
        """Gradient of `loss` in all rows."""
        by_score = np.einsum(
            "bl,bli->bi", self.model.density(batch),
            slope(self.tree, self.right(batch, gamma), gamma))
        by_score *= -self.outer(batch, gamma)[:, None]
        return by_score.T @ self.samples[batch] / self.weight[batch].sum()

    def step(self, batch, gamma, rate, keep, leaf_rate):
        gradient = self.gradient(batch, gamma) + self.rows @ np.broadcast_to(
            self.penalty, 2 * [self.rows.shape[1]])
        gradient = gradient * self.mask
        share = self.share(batch, gamma)
        self.n_steps += 1
        step, self.first, self.second = self.adam(gradient, self.first, self.second)
        self.rows = keep * self.rows - rate * step
        self.model.update(batch, share, leaf_rate, self.adam)
        if self.refit_every_step:
            self.model.fit()

    def adam(self, gradient, first, second):
        """A step of Adam at a rate of 1, and the moments."""
        first = first + (1 - self.beta1) * (gradient - first)
        second = second + (1 - self.beta2) * (gradient**2 - second)
        size = np.sqrt(second / (1 - self.beta2**self.n_steps)) + self.epsilon
        return first / (1 - self.beta1**self.n_steps) / size, first, second

    def epoch(self, order, gamma, rate, keep, leaf_rate, batch_size):
        sums = np.zeros(2)
        for k in range(len(rate)):
            batch = order[k * batch_size:(k + 1) * batch_size]
            weight = self.weight[batch].sum()
            sums += weight * self.loss(batch, gamma[k]), weight
            self.step(batch, gamma[k], rate[k], keep[k], leaf_rate[k])
        return sums[0] / sums[1]


def laplacian(image_shape):
    """Gradient matrix of the sum of (w_i - w_j)^2 over neighbouring pixels, with a row and a column
    for the threshold."""
    index = list(np.ndindex(image_shape))
    matrix = np.zeros((len(index) + 1, len(index) + 1))
    for i, one in enumerate(index):
        for j, other in enumerate(index):
            steps = np.abs(np.subtract(one, other))
            if i < j and steps[:2].sum() == 1 and not steps[2:].any():
                matrix[i, i] += 2
                matrix[j, j] += 2
                matrix[i, j] -= 2
                matrix[j, i] -= 2
    return matrix
