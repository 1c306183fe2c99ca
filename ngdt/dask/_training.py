"""Training on partitions: rounds of replicas, and sums in between."""

from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import dask
import numpy as np
from dask import delayed

from ngdt._core.tree import Tree
from ngdt._methods.sgd.rounds import SGDRounds
from ngdt._methods.soft.rounds import SoftRounds
from ngdt._methods.soft.run import evaluated_epochs
from ngdt._training.control import NO_CONTROL
from ngdt._training.progress import Progress
from ngdt._training.rounds import ROUND_STEPS, RoundState
from ngdt.dask._blocks import combined, sent
from ngdt.dask._sums import LeafSums
from ngdt.optimizers import SGD, SSGD, Annealed

# Rounds that are computed together, without the client in between. If a worker ends, these rounds
# are computed again.
ROUNDS_AT_ONCE = 16
# The optimizers that train in rounds.
ROUNDS = {Annealed: SoftRounds, SGD: SGDRounds, SSGD: SGDRounds}


class Partitions:
    """Blocks on the workers, and exact sums over them.

    Parameters
    ----------
    blocks : list of Delayed
        Each makes a `Block`. They are kept on the workers if there are no more than `n_at_once`.
    n_training : ndarray of int
        Number of training samples of each block.
    n_at_once : int
        Number of blocks that are trained on at the same time.
    """

    def __init__(self, blocks, n_training, n_at_once):
        self.blocks = list(dask.persist(*blocks)) if len(blocks) <= n_at_once else blocks
        self.n_training = n_training
        self.n_at_once = min(n_at_once, len(blocks))

    def total(self, function, add, *args):
        """Combine the results of a function for each block.

        Parameters
        ----------
        function : callable
            Takes a block and further arguments.
        add : callable
            Combines a list of results into one.
        *args : objects
        """
        return self.lazy_total(function, add, *args).compute()

    def lazy_total(self, function, add, *args):
        """Lazy result of `total`, Delayed."""
        args = [sent(each) for each in args]
        found = [delayed(function, pure=False)(block, *args) for block in self.blocks]
        return combined(add, found)

    def sums(self, tree):
        """The `LeafSums` of a tree."""
        return self.total(LeafSums.of, LeafSums.add, tree)

    def drawn(self, draw):
        """The same blocks, with the sample weights that one tree draws."""
        drawn = copy(self)
        drawn.blocks = [delayed(draw.of, pure=False)(each) for each in self.blocks]
        return drawn

    def groups(self, seed):
        """Groups of partitions in random order, as arrays of indices."""
        order = np.random.default_rng(seed).permutation(len(self.blocks))
        return np.array_split(order, -(-len(order) // self.n_at_once))


def shuffled(block, seed):
    """The training samples of a block in random order."""
    samples = block.problem.training_samples
    return np.random.default_rng((*seed, block.number)).permutation(samples)


def advance(rounds, block, order, state, schedule, first, n_steps):
    """Let a replica take the steps of a round on a block.

    Parameters
    ----------
    rounds : Rounds
    block : Block
    order : ndarray of int32
        Order of the training samples of the block.
    state : RoundState
    schedule : dict of str to ndarray
    first, n_steps : int
        Number of steps on the block before these, and in all.

    Returns
    -------
    RoundState
    """
    begin, end = (
        len(order) * step // n_steps for step in (first, first + len(schedule["rate"])))
    return rounds.advance(block.problem, order[begin:end], state, schedule)


class Best(NamedTuple):
    """The best tree of a training so far, its error on validation samples, and its `LeafSums`."""

    error: float = np.inf
    tree: Tree | None = None
    sums: LeafSums | None = None


class Training:
    """Training of a tree, with its state between the computations on the workers.

    Parameters
    ----------
    optimizer : Optimizer
        One of `ROUNDS`.
    tree : Tree
        The initial tree.
    problem : Problem
        Problem of some of the samples, with the scaling of all.
    partitions : Partitions
    prior : ndarray or None
        Share of each class.
    is_validated : bool
        Whether there are validation samples.
    """

    def __init__(self, optimizer, tree, problem, partitions, prior, is_validated):
        self.problem, self.partitions = problem, partitions
        self.n_samples = int(partitions.n_training.sum())
        self.rounds = ROUNDS[type(optimizer)](
            optimizer, tree, problem.replace(control=NO_CONTROL), self.n_samples,
            partitions.n_at_once, prior)
        self.state = self.rounds.start()
        self.progress = Progress(optimizer, problem, self.rounds.epochs)
        self.evaluated = evaluated_epochs(self.rounds.epochs) if is_validated else set()
        self.best = Best()

    def run(self):
        """Train: the tree with hard routing, the best leaf values, and no empty leaves.

        Returns
        -------
        OptimizerResult
        """
        epochs, rounds = self.rounds.epochs, sent(self.rounds)
        with self.progress.until_interrupted():
            for epoch in range(epochs):
                metrics, n_before = [], 0
                for group in self.partitions.groups((self.problem.random_state, epoch)):
                    metrics += self._train_on(group, rounds, epoch, n_before)
                    n_before += self.partitions.n_training[group].sum()
                known = dict(zip(self.rounds.metrics, np.mean(metrics, axis=0), strict=True))
                if epoch in self.evaluated:
                    known["validation"] = self._evaluate()
                self.progress.report(known)
        return self.progress.result(self._best_tree)

    def _best_tree(self):
        if self.best.tree is None:
            self._evaluate()
        return self.best.tree

    def _train_on(self, group, rounds, epoch, n_before):
        """Train on a group of partitions, each sample once; return the metrics of each round."""
        partitions, epochs = self.partitions, self.rounds.epochs
        blocks, n = [partitions.blocks[i] for i in group], partitions.n_training[group].sum()
        orders = [delayed(shuffled, pure=False)(
            block, (self.problem.random_state, epoch)) for block in blocks]
        held = dask.persist(*blocks, *orders)
        pairs = list(zip(held[:len(group)], held[len(group):], strict=True))
        n_steps = max(1, round(n / (len(group) * self.rounds.batch_size)))
        ends = np.linspace(0, n_steps, -(-n_steps // ROUND_STEPS) + 1)
        of_rounds = list(pairwise(ends.astype(int).tolist()))
        share = (n_before + n * np.arange(n_steps) / n_steps) / self.n_samples
        done, metrics = (epoch + share) / epochs, []
        for i in range(0, len(of_rounds), ROUNDS_AT_ONCE):
            state, number = sent(self.state), self.state.n_steps
            for begin, end in of_rounds[i:i + ROUNDS_AT_ONCE]:
                schedule = self.rounds.schedule_at(done[begin:end], number)
                number += end - begin
                state = combined(RoundState.average, [
                    delayed(advance, pure=False)(
                        rounds, block, order, state, schedule, begin, n_steps)
                    for block, order in pairs])
            self.state = state.compute()
            metrics += self.state.metrics
            self.state = replace(self.state, metrics=())
            self.progress.control.activity.at(done[end - 1])
        return metrics

    def _evaluate(self):
        """Mean error on the validation samples, NaN without; keep the tree if none is better."""
        tree = self.rounds.tree_at(self.state)
        sums = self.partitions.sums(tree)
        fitted = sums.fit_reached(tree)
        if fitted.n_leaves < tree.n_leaves:
            sums = self.partitions.sums(fitted)
        error = sums.mean_error(fitted)
        if not error > self.best.error:
            self.best = Best(error, fitted, sums)
        return error
