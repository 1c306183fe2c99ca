"""Soft training of the functions of a tree, by the schedules of `Annealed` and `EndToEnd`."""

import numpy as np
import torch
from torch.nn.functional import logsigmoid, one_hot

from ngdt._training.progress import Progress
from ngdt.deep._base import score_tree

# Least variance of the targets in the leaves, relative to the variance of all targets.
_MIN_VARIANCE = 1e-6


class Paths:
    """Nodes on the path to each leaf, and the sides of the leaf.

    Parameters
    ----------
    left, right : ndarray of int, shape (n_nodes,)
        As the children of `Tree`.
    """

    def __init__(self, left, right):
        sides = score_tree(left, right, np.zeros((len(left) + 1, 1))).ancestors().toarray().T
        self.left, self.right = (
            torch.from_numpy((sides == side).astype(np.float32)) for side in (-1, 1))

    def log_probability(self, scores, gamma):
        """Logarithm of the probability that a sample reaches each leaf, shape (n, n_leaves)."""
        scores = gamma * scores
        return logsigmoid(-scores) @ self.left + logsigmoid(scores) @ self.right


class CategoricalLeaves:
    """Leaves of classification: probabilities of classes, Hehn et al. (2020), eq. 13."""

    def __init__(self, n_leaves, y, sample_weight, n_outputs, prior_weight):
        self.y, self.n_classes = torch.from_numpy(y[:, 0].astype(np.int64)), n_outputs
        prior = np.bincount(y[:, 0].astype(np.intp), sample_weight, n_outputs)
        self.prior = torch.from_numpy((prior / prior.sum()).astype(np.float32))
        self.prior_weight = prior_weight
        self.mean = torch.zeros(n_leaves, n_outputs)
        self.fit()

    def start(self, samples):
        """Let each leaf start from the target of a sample."""
        self.mean += 0.5 * (self.prior + one_hot(self.y[samples], self.n_classes))
        self.fit()

    def log_likelihood(self, samples):
        """Log-likelihood of the targets of samples at each leaf, shape (n, n_leaves)."""
        return self.log_probability.T[self.y[samples]]

    def statistics(self, samples, responsibility):
        """Statistics of a mini-batch for the fit, of the shape of `mean`."""
        return responsibility.T @ one_hot(self.y[samples], self.n_classes).float()

    def fit(self):
        """Set the parameters that fit the running means best."""
        mean = self.mean + self.prior_weight * self.prior
        self.log_probability = torch.log(mean / mean.sum(dim=1, keepdim=True))

    end_epoch = fit


class GaussianLeaves:
    """Leaves of regression: normal densities with a mean per leaf and one variance."""

    def __init__(self, n_leaves, y, sample_weight, n_outputs, prior_weight):
        self.y = torch.from_numpy(y.astype(np.float32))
        prior = np.append(np.average(y, axis=0, weights=sample_weight), 1.0)
        self.prior = torch.from_numpy(prior.astype(np.float32))
        self.prior_weight, self.variance = prior_weight, 1.0
        self.mean = torch.zeros(n_leaves, n_outputs + 2)
        self.fit()

    def start(self, samples):
        """Let each leaf start from the targets of a sample."""
        self.mean[:, :-2], self.mean[:, -2] = self.y[samples], 1.0
        self.fit()

    def _squares(self, samples):
        return ((self.y[samples, None] - self.value) ** 2).sum(dim=2)

    def log_likelihood(self, samples):
        """Log-likelihood of the targets at each leaf, up to a constant, shape (n, n_leaves)."""
        return -0.5 / self.variance * self._squares(samples)

    def statistics(self, samples, responsibility):
        """Statistics of a mini-batch for the fit, of the shape of `mean`."""
        squares = (responsibility * self._squares(samples)).sum(dim=0)
        return torch.column_stack(
            [responsibility.T @ self.y[samples], responsibility.sum(dim=0), squares])

    def fit(self):
        """Set the parameters that fit the running means best."""
        mean = self.mean[:, :-1] + self.prior_weight * self.prior
        self.value = mean[:, :-1] / mean[:, -1:]

    def end_epoch(self):
        """Fit the variance, too."""
        _, responsible, squares = self.mean.sum(dim=0).split([len(self.prior) - 1, 1, 1])
        self.variance = max(
            float(squares / (responsible * (len(self.prior) - 1))), _MIN_VARIANCE)
        self.fit()


class SoftTraining:
    """Training of the functions of a tree.

    Parameters
    ----------
    functions : nn.Module
        Maps a batch and the steepness to the scores of all nodes. Trained in place.
    children : tuple of two ndarrays of int
        Left and right children of the nodes.
    optimizer : Annealed or EndToEnd
    problem : Problem
        The random state seeds the order of the samples.
    samples : ndarray of int32
        Samples to train on.
    inputs : Tensor of shape (n_samples, ...)
    sample_weight : ndarray of shape (n_samples,)
        Weights with mean 1.
    """

    def __init__(self, functions, children, optimizer, problem, samples, inputs, sample_weight):
        self.functions, self.paths = functions, Paths(*children)
        self.samples, self.inputs = samples, inputs
        self.optimizer, self.schedule = optimizer, optimizer._schedule(len(samples), problem)
        self.weight = torch.from_numpy(sample_weight.astype(np.float32))
        leaves = CategoricalLeaves if problem.loss.is_classifier else GaussianLeaves
        self.leaves = leaves(
            len(children[0]) + 1, problem.y, problem.sample_weight, problem.n_outputs,
            optimizer.pseudo_count / len(samples))
        self.targets = problem.y[:, 0]
        self.random = np.random.RandomState(problem.random_state)
        # The decay of weights must not change weights that are not trained.
        self.parameters = [each for each in functions.parameters() if each.requires_grad]
        self.adam = torch.optim.Adam(self.parameters, betas=(0.9, optimizer.beta2))
        self.progress = Progress(optimizer, problem, self.schedule.epochs)

    def run(self):
        """Train, and return the `Progress`."""
        self.functions.train()
        with self.progress.until_interrupted():
            for epoch in range(self.schedule.epochs):
                self._epoch(epoch)
        return self.progress

    def spread_leaves(self):
        """Let leaves start from targets at evenly spaced quantiles, for untrained splits.

        From equal leaves, a tree with few more leaves than classes ends with fewer distinct leaves.
        """
        n_leaves = len(self.leaves.mean)
        order = self.samples[np.argsort(self.targets[self.samples], kind="stable")]
        weight = np.cumsum(self.weight.numpy()[order])
        at = np.searchsorted(weight, (np.arange(n_leaves) + 0.5) / n_leaves * weight[-1])
        self.leaves.start(torch.from_numpy(order[at].astype(np.int64)))

    def _epoch(self, epoch):
        schedule, order = self.schedule, self.random.permutation(self.samples)
        begins = range(0, len(order), schedule.batch_size)
        total, seen, losses = float(self.weight[order].sum()), 0.0, 0.0
        for step, begin in enumerate(begins):
            batch = torch.from_numpy(order[begin:begin + schedule.batch_size].astype(np.int64))
            done = (epoch + step / len(begins)) / schedule.epochs
            weight = self.weight[batch]
            # Leaves are running means over the weight of one epoch.
            seen += float(weight.sum())
            before = epoch * total if self.optimizer.refit_every_step else 0.0
            share = float(weight.sum()) / min(seen + before, total)
            loss = self._step(batch, weight, done, share)
            if self.optimizer.refit_every_step:
                self.leaves.fit()
            losses += loss * float(weight.sum())
            self.progress.control.activity.at((epoch + (step + 1) / len(begins)) / schedule.epochs)
        if not np.isfinite(losses):
            raise ValueError(
                "the loss is not finite any more: use a smaller learning_rate, or functions whose "
                "values are finite")
        self.leaves.end_epoch()
        self.progress.report({"loss": losses / total, "gamma": float(schedule.gamma(done))})

    def _step(self, batch, weight, done, share):
        """Take a step of Adam, and move the running means of the leaves by a share."""
        schedule, q = self.schedule, self.optimizer.q
        gamma = float(schedule.gamma(done))
        reach = self.paths.log_probability(self.functions(self.inputs[batch], gamma), gamma)
        joint = reach + self.leaves.log_likelihood(batch)
        log_likelihood = torch.logsumexp(joint, dim=1)
        bounded = -log_likelihood if q == 0 else (1.0 - torch.exp(q * log_likelihood)) / q
        loss = (weight * bounded).sum() / weight.sum()
        self.adam.param_groups[0]["lr"] = float(schedule.rate(done))
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        with torch.no_grad():
            torch._foreach_mul_(self.parameters, 1.0 - float(schedule.decay(done)))
            # Responsibilities, eq. 10, times the influence that the bounded loss gives a sample.
            influence = weight * torch.exp(q * log_likelihood)
            responsibility = torch.softmax(joint, dim=1) * influence[:, None]
            statistics = self.leaves.statistics(batch, responsibility) / weight.sum()
            self.leaves.mean += share * (statistics - self.leaves.mean)
        return loss.item()
