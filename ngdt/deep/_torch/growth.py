"""Trees that training starts from: grown greedily by soft stumps, or balanced."""

from typing import NamedTuple
from zlib import crc32

import numpy as np
import torch
from torch import nn

from ngdt._core.greedy.builder import build
from ngdt._util.stopped import Stopped
from ngdt.deep._torch.functions import NodeFunctions, evaluate
from ngdt.deep._torch.training import SoftTraining

_STUMP = np.array([~0]), np.array([~1])
# Largest number of stumps that are tried per node, where they send all samples to one side.
_MAX_ATTEMPTS = 3


class _Split(NamedTuple):
    module: nn.Module
    is_right: np.ndarray
    gain: float


class _StumpStrategy:
    """Split strategy for the builder: trained stumps, Hehn et al. (2020), section 2.5.

    Parameters
    ----------
    make : callable
        Returns a new module for a node.
    optimizer : Annealed or EndToEnd
    problem : Problem
    inputs : ndarray of float32, shape (n_samples, ...)
    sample_weight : ndarray of shape (n_samples,)
        Weights with mean 1.
    """

    def __init__(self, make, optimizer, problem, inputs, sample_weight):
        self.make, self.optimizer = make, optimizer
        self.problem = problem.replace(control=problem.control.silent())
        self.inputs, self.sample_weight = inputs, sample_weight

    def split(self, samples, min_samples_leaf):
        """Train a split; None if no stump separates the samples, or if they are pure."""
        # If distinct values of every sample give no valid threshold, no split does.
        if self._cut(samples, np.arange(len(samples)), min_samples_leaf) is None:
            return None
        seed = [self.problem.random_state, crc32(samples)]
        for attempt in range(_MAX_ATTEMPTS):
            module = self._trained(samples, np.random.default_rng([*seed, attempt]))
            is_right = evaluate(module, self.inputs[samples])[:, 0] > 0
            cut = self._cut(samples, is_right, min_samples_leaf)
            if cut is not None:
                return _Split(module, is_right, cut[1])
        return None

    def _cut(self, samples, numbers, min_samples_leaf):
        return self.problem.splitter.best_threshold(
            samples, numbers.astype(np.float64), min_samples_leaf)

    def _trained(self, samples, random):
        seed = int(random.integers(2**31))
        torch.manual_seed(seed)
        functions = NodeFunctions([self.make()], *_STUMP)
        training = SoftTraining(
            functions, _STUMP, self.optimizer, self.problem.replace(random_state=seed), samples,
            torch.from_numpy(self.inputs), self.sample_weight)
        if training.run().interrupted:
            raise KeyboardInterrupt
        return functions.nodes[0]

    def partition(self, samples, split):
        """Move the samples of the left side to the front, and return their number."""
        samples[:] = np.concatenate([samples[~split.is_right], samples[split.is_right]])
        return len(samples) - np.count_nonzero(split.is_right)


def grow(make, optimizer, problem, inputs, sample_weight):
    """Grow a tree: split the leaf with the largest gain until there are enough leaves.

    Parameters
    ----------
    make, optimizer, problem, inputs, sample_weight
        As for the split strategy.

    Returns
    -------
    modules : list of nn.Module
        One for each node.
    children : tuple of two ndarrays of int
    interrupted : bool
        Whether Ctrl-C ended the growth.

    Raises
    ------
    KeyboardInterrupt
        By Ctrl-C, before there is a split.
    """
    strategy = _StumpStrategy(make, optimizer, problem, inputs, sample_weight)
    interrupted = False
    try:
        growth = build(strategy, problem.training_samples.copy(), problem)
    except Stopped as stopped:
        growth, interrupted = stopped.tree, True
    splits, _, left, right = growth.numbered()
    return [split.module for split in splits], (left, right), interrupted
