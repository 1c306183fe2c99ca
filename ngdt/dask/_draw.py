"""Samples and features that a tree of a forest draws from each partition."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ngdt._forest.sampling import Sampling
from ngdt.dask._training import advance, shuffled


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
        return advance(rounds, drawn, shuffled(drawn, seed), state, schedule, 0, schedule.n_steps)
