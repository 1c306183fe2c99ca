"""Training of many trees, each of which goes from partition to partition."""

from dataclasses import dataclass, field, replace

import dask
import numpy as np
from dask import delayed

from ngdt._training.algorithm import Progress
from ngdt._training.control import NO_CONTROL
from ngdt._training.rounds import Rounds, RoundState
from ngdt.dask._draw import Draw
from ngdt.dask._training import ROUNDS, advance, shuffled


@dataclass
class Member:
    """A tree in training.

    Attributes
    ----------
    draw : Draw
    rounds : Rounds
        Of one replica.
    state : RoundState
        Between the computations on the workers.
    history : dict of str to list
        Metrics of each epoch.
    """

    draw: Draw
    rounds: Rounds
    state: RoundState
    history: dict = field(default_factory=dict)


def advance_alone(rounds, draw, block, state, steps, seed):
    """Let a tree take steps on all samples that it draws from a block.

    Parameters
    ----------
    rounds : Rounds
    draw : Draw
    block : Block
    state : RoundState
    steps : Steps
    seed : sequence of int

    Returns
    -------
    RoundState
    """
    drawn = draw.training_block(block)
    return advance(rounds, drawn, shuffled(drawn, seed), state, steps, 0, steps.n_steps)


class ForestTraining:
    """The training of all trees of a forest, at the same time.

    Nothing is averaged: a tree takes all steps itself, as in memory, but visits the samples
    partition by partition.

    Parameters
    ----------
    optimizer : Optimizer
        One of `ROUNDS`.
    trees : list of Tree
        The initial trees, each of its own features.
    draws : list of Draw
    problem : Problem
        Of some of the samples, with the moments of all.
    partitions : Partitions
    prior : ndarray or None
        Share of each class.
    """

    def __init__(self, optimizer, trees, draws, problem, partitions, prior):
        self.problem, self.partitions = problem, partitions
        self.share = draws[0].distinct
        n_samples = max(1, round(self.share * partitions.n_training.sum()))
        sent = problem.replace(control=NO_CONTROL)
        self.members = []
        for tree, draw in zip(trees, draws, strict=True):
            part = sent.part(draw.weight(sent.sample_weight, 0), draw.features)
            rounds = ROUNDS[type(optimizer)](
                optimizer, part.refit_leaves(tree), part.replace(random_state=draw.seed),
                n_samples, 1, prior)
            self.members.append(Member(draw, rounds, rounds.start()))
        self.epochs = self.members[0].rounds.epochs
        self.progress = Progress(optimizer, problem, self.epochs)
        self.unknown = dict.fromkeys(optimizer.metrics, np.nan)

    def run(self):
        """Train.

        Returns
        -------
        list of (Tree, dict)
            The trees, each of its own features, with the metrics of the epochs.
        """
        partitions, metrics = self.partitions, []
        sent = [[delayed(each, traverse=False, pure=False) for each in (member.rounds, member.draw)]
                for member in self.members]
        with self.progress.until_interrupted():
            for epoch in range(self.epochs):
                n_before = 0
                for visit in partitions.visits((self.problem.random_state, epoch)):
                    self._visit(sent, visit, epoch, n_before)
                    n_before += partitions.n_training[visit].sum()
                metrics = [self._end_epoch(member) for member in self.members]
                self.progress.report(self.unknown | {
                    name: np.mean([each[name] for each in metrics]) for name in metrics[0]})
        self.progress.control.activity.finish()
        return [(each.rounds.tree_of(each.state), each.history) for each in self.members]

    def _visit(self, sent, visit, epoch, n_before):
        """Let each tree visit some partitions, in an order of its own."""
        partitions = self.partitions
        held = dask.persist(*(partitions.blocks[i] for i in visit))
        done, n_training = n_before / partitions.n_training.sum(), partitions.n_training[visit]
        states = []
        for member, (rounds, draw) in zip(self.members, sent, strict=True):
            seed = member.draw.seed, epoch
            state, number = delayed(member.state, traverse=False, pure=False), member.state.n_steps
            begin = done
            for i in np.random.default_rng(seed).permutation(len(visit)):
                steps = self._steps(member.rounds, n_training[i], epoch, begin, number)
                begin += n_training[i] / partitions.n_training.sum()
                number += steps.n_steps
                state = delayed(advance_alone, pure=False)(
                    rounds, draw, held[i], state, delayed(steps, traverse=False, pure=False), seed)
            states.append(state)
        for member, state in zip(self.members, dask.compute(*states), strict=True):
            member.state = state

    def _steps(self, rounds, n_samples, epoch, done, number):
        """Schedules on a partition, from the finished share of the epoch on."""
        n_steps = max(1, round(self.share * n_samples / rounds.batch_size))
        width = n_samples / self.partitions.n_training.sum()
        share = done + width * np.arange(n_steps) / n_steps
        return rounds.steps((epoch + share) / self.epochs, number)

    def _end_epoch(self, member):
        """The metrics of the epoch, which are added to the history."""
        means = np.mean(member.state.metrics, axis=0).tolist()
        metrics = dict(zip(member.rounds.metrics, means, strict=True))
        for name, value in (self.unknown | metrics).items():
            member.history.setdefault(name, []).append(value)
        member.state = replace(member.state, metrics=())
        return metrics
