"""Training of many trees, each of which draws samples, and goes from partition to partition."""

from dataclasses import dataclass, replace

import dask
import numpy as np
from dask import delayed
from scipy import sparse

from ngdt._forest.sampling import Sampling
from ngdt._training.control import NO_CONTROL
from ngdt._training.progress import Progress
from ngdt.dask._blocks import sent
from ngdt.dask._training import ROUNDS, shuffled


@dataclass(frozen=True)
class Draw:
    """Draw of the samples and the features of a tree.

    Attributes
    ----------
    sampling : Sampling
        Its number of samples is replaced for each partition.
    share : float or None
        Number of samples that are drawn, relative to the number of all. None stands for all,
        without a draw.
    seed : int
        Seed of the tree.
    """

    sampling: Sampling
    share: float | None
    seed: int

    @property
    def distinct(self):
        """Expected share of the samples that are drawn at least once."""
        if self.share is None:
            return 1.0
        return 1.0 - np.exp(-self.share) if self.sampling.bootstrap else self.share

    @property
    def features(self):
        """Features of the tree, or None for all."""
        return self.sampling.features(self.seed)

    def weight(self, sample_weight, number):
        """Sample weights of the tree in partition `number`.

        Parameters
        ----------
        sample_weight : ndarray of shape (n_samples,)
        number : int

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        n_samples = np.count_nonzero(sample_weight)
        if self.share is None or n_samples == 0:
            return sample_weight
        sampling = replace(self.sampling, n_drawn=max(1, round(self.share * n_samples)))
        seed = np.random.SeedSequence([self.seed, number]).generate_state(1)[0]
        return sample_weight * sampling.counts(sample_weight, int(seed))

    def of(self, block):
        """Block with the sample weights of the tree.

        Parameters
        ----------
        block : Block

        Returns
        -------
        Block
        """
        weight = self.weight(block.problem.sample_weight, block.number)
        return replace(block, problem=block.problem.replace(sample_weight=weight))

    def advance(self, rounds, block, state, schedule, seed):
        """Take the steps of a schedule on all samples that the tree draws from a block.

        The seed, a sequence of int, is that of their order. Returns the `RoundState` after them.
        """
        drawn, features = self.of(block), self.features
        if features is not None:
            X = drawn.problem.X[:, features]
            drawn = replace(drawn, problem=drawn.problem.replace(
                X=X if sparse.issparse(X) else np.ascontiguousarray(X)))
        return rounds.advance(drawn.problem, shuffled(drawn, seed), state, schedule)


class ForestTraining:
    """Training of all trees of a forest, at the same time.

    Nothing is averaged: a tree takes all steps itself, as in memory, but partition by partition.

    Parameters
    ----------
    optimizer : Optimizer
        One of `ROUNDS`.
    trees : list of Tree
        The initial trees, each of its own features.
    draws : list of Draw
    problem : Problem
        Problem of some of the samples, with the moments of all.
    partitions : Partitions
    prior : ndarray or None
        Share of each class.
    """

    def __init__(self, optimizer, trees, draws, problem, partitions, prior):
        self.problem, self.partitions, self.draws = problem, partitions, draws
        self.share = draws[0].distinct
        n_samples = max(1, round(self.share * partitions.n_training.sum()))
        problem = problem.replace(control=NO_CONTROL)
        self.rounds = []        # of each tree, those of a single replica
        for tree, draw in zip(trees, draws, strict=True):
            own = problem.part(draw.weight(problem.sample_weight, 0), draw.features)
            self.rounds.append(ROUNDS[type(optimizer)](
                optimizer, own.refit_leaves(tree), own.replace(random_state=draw.seed),
                n_samples, 1, prior))
        # States between the computations on the workers, and metrics of each epoch.
        self.states, self.metrics = [each.start() for each in self.rounds], []
        self.epochs = self.rounds[0].epochs
        self.progress = Progress(optimizer, self.problem, self.epochs)

    def run(self):
        """Train.

        Returns
        -------
        list of (Tree, dict)
            The trees, each of its own features, with the metrics of the epochs.
        """
        partitions, names = self.partitions, self.rounds[0].metrics
        lazy = [*zip(map(sent, self.rounds), map(sent, self.draws), strict=True)]
        with self.progress.until_interrupted():
            for epoch in range(self.epochs):
                n_before = 0
                for group in partitions.groups((self.problem.random_state, epoch)):
                    self._train_on(group, lazy, epoch, n_before)
                    n_before += partitions.n_training[group].sum()
                self.metrics.append([np.mean(each.metrics, axis=0) for each in self.states])
                self.states = [replace(each, metrics=()) for each in self.states]
                mean = np.mean(self.metrics[-1], axis=0)
                self.progress.report(dict(zip(names, mean, strict=True)))
        self.progress.control.activity.finish()
        of_trees = np.reshape(self.metrics, (-1, len(self.rounds), len(names))).swapaxes(0, 1)
        return [(rounds.tree_at(state), dict(zip(names, metrics.T.tolist(), strict=True)))
                for rounds, state, metrics in zip(self.rounds, self.states, of_trees, strict=True)]

    def _train_on(self, group, lazy, epoch, n_before):
        """Train each tree on a group of partitions, in an order of its own."""
        partitions = self.partitions
        held = dask.persist(*(partitions.blocks[i] for i in group))
        done, n_training = n_before / partitions.n_training.sum(), partitions.n_training[group]
        states = []
        for k, (rounds, draw) in enumerate(lazy):
            seed, number = (self.draws[k].seed, epoch), self.states[k].n_steps
            state, begin = sent(self.states[k]), done
            for i in np.random.default_rng(seed).permutation(len(group)):
                schedule = self._schedule(self.rounds[k], n_training[i], epoch, begin, number)
                begin += n_training[i] / partitions.n_training.sum()
                number += len(schedule["rate"])
                state = delayed(Draw.advance, pure=False)(
                    draw, rounds, held[i], state, sent(schedule), seed)
            states.append(state)
        self.states = dask.compute(*states)

    def _schedule(self, rounds, n_samples, epoch, done, number):
        """The schedule of the steps on a partition, from the finished share of the epoch on."""
        n_steps = max(1, round(self.share * n_samples / rounds.batch_size))
        width = n_samples / self.partitions.n_training.sum()
        share = done + width * np.arange(n_steps) / n_steps
        return rounds.schedule_at((epoch + share) / self.epochs, number)
