"""Train the trees of a forest: one problem, one part of it for each tree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ngdt._deadline import Deadline
from ngdt._selection import train
from ngdt._tree import Tree
from ngdt.estimators._description import describe
from ngdt.forest._sampling import Sampling, widen
from ngdt.initializers import Initializer
from ngdt.optimizers import LinearLeaves
from ngdt.optimizers._threads import one_blas_thread

# Seconds between two lines of progress.
REPORT_SECONDS = 5.0


@dataclass(frozen=True)
class Recipe:
    """How each tree is made.

    Attributes
    ----------
    init : Initializer or Tree
    optimizers : sequence of Optimizer
    sampling : Sampling
    max_depth : int or None
        Largest depth of the initial tree, besides that of the problem.
    """

    init: Initializer | Tree
    optimizers: Sequence
    sampling: Sampling
    max_depth: int | None = None

    def fit(self, problem, seed, fitted):
        """Train a tree.

        Parameters
        ----------
        problem : Problem
            Of the whole forest.
        seed : int
        fitted : dict
            Fitted attributes that do not depend on the tree.

        Returns
        -------
        TrainedTree
        """
        begin = monotonic()
        # Its own list of cuts: another process has a copy.
        problem = problem.replace(
            deadline=Deadline(problem.deadline.end), random_state=seed,
            max_depth=min((each for each in (problem.max_depth, self.max_depth)
                           if each is not None), default=None))
        weight, features = self.sampling.weight(problem, seed), self.sampling.features(seed)
        result = train(problem.part(weight, features), self.init, self._optimizers(features))
        tree = result.tree if features is None else (
            widen(result.tree, features, problem.X.shape[1]))
        compact = tree.compact()
        # Many samples take up to twice as long with sparse weights: they have to be worth it.
        if 2 * compact.nbytes < tree.nbytes:
            tree = compact
        result = replace(result, tree=tree)
        parameters = {"max_depth": problem.max_depth, "random_state": seed}
        return TrainedTree(
            describe(problem.part(weight), result, fitted) | parameters,
            result.interrupted, problem.deadline.has_cut, monotonic() - begin)

    def share(self, attributes, moments):
        """Let a tree that another process has trained have no copies of what all trees have.

        Parameters
        ----------
        attributes : dict
            Of the tree; changed in place.
        moments : Moments
        """
        attributes |= {
            "init": self.init, "optimizer": list(self.optimizers) or None,
            "_sample_summary": replace(
                attributes["_sample_summary"], mean=moments.mean, std=moments.std,
                low=moments.low, high=moments.high)}

    def _optimizers(self, features):
        """The optimizers for some of the features, which linear leaves may have been given."""
        if features is None:
            return list(self.optimizers)
        return [_of_features(each, features) for each in self.optimizers]


def _of_features(optimizer, features):
    if not isinstance(optimizer, LinearLeaves) or isinstance(optimizer.features, str):
        return optimizer
    places = np.flatnonzero(np.isin(features, optimizer.features))
    return LinearLeaves(**{**optimizer.get_params(deep=False), "features": places})


@dataclass(frozen=True)
class TrainedTree:
    """A tree of a forest.

    Attributes
    ----------
    attributes : dict
        Fitted attributes and parameters of the estimator of the tree.
    interrupted : bool
        Whether Ctrl-C ended its training.
    was_cut : bool
        Whether the deadline shortened its training.
    seconds : float
    """

    attributes: dict
    interrupted: bool
    was_cut: bool
    seconds: float


class Stop:
    """A callback that ends the training of trees in other threads, once it is set."""

    def __init__(self):
        self.is_set = False

    def __call__(self, metrics):
        if self.is_set:
            raise KeyboardInterrupt

    def __reduce__(self):
        return Stop, ()     # other processes are ended by joblib


def _return_as():
    """How joblib returns trees: one by one, unless its backend has them only all at once."""
    backend, _ = get_active_backend(prefer="threads")
    return "generator" if backend.supports_return_generator else "list"


class Growth:
    """The trees that have been trained so far.

    Parameters
    ----------
    problem : Problem
        Of the whole forest.
    fitted : dict
        Fitted attributes that do not depend on a tree.

    Attributes
    ----------
    trees : list of TrainedTree
    interrupted : bool
        Whether Ctrl-C ended the training.
    was_cut : bool
        Whether the deadline did, or shortened the training of a tree.
    """

    def __init__(self, problem, fitted):
        self.problem, self.fitted = problem, fitted
        self.trees, self.interrupted = [], False
        self._begin = self._reported = monotonic()

    @property
    def was_cut(self):
        return self.problem.deadline.has_cut or any(tree.was_cut for tree in self.trees)

    def add(self, tasks):
        """Train trees until Ctrl-C or the deadline.

        Trees are kept as soon as they are trained. Ctrl-C before the first raises
        KeyboardInterrupt.

        Parameters
        ----------
        tasks : sequence of tuple (Recipe, int)
            For each tree, how it is made, and its seed.
        """
        n_wanted, stop = len(self.trees) + len(tasks), Stop()
        problem = self.problem.replace(n_jobs=1, verbose=0, callback=stop)
        run = Parallel(
            self.problem.n_jobs, prefer="threads", return_as=_return_as(), pre_dispatch="n_jobs",
            batch_size=1)
        jobs = (delayed(recipe.fit)(problem, seed, self.fitted)
                for recipe, seed in self._in_time(tasks))
        try:
            # Trees in several threads must not start threads of BLAS in each.
            with one_blas_thread():
                for tree, (recipe, _) in zip(run(jobs), tasks, strict=False):
                    recipe.share(tree.attributes, problem.moments)
                    if not (tree.interrupted and self.trees):
                        self.trees.append(tree)
                    if tree.interrupted:
                        raise KeyboardInterrupt
                    self._report(n_wanted)
        except KeyboardInterrupt:
            if not self.trees:
                raise
            self.interrupted = True
        finally:
            stop.is_set = True

    def _in_time(self, tasks):
        """The tasks, as long as there is time for another tree."""
        for task in tasks:
            if self.trees and not self.problem.deadline.fits(self.trees[-1].seconds):
                return
            yield task

    def _report(self, n_wanted):
        now, n, verbose = monotonic(), len(self.trees), self.problem.verbose
        if not verbose or (
                verbose == 1 and n < n_wanted and now - self._reported < REPORT_SECONDS):
            return
        self._reported = now
        print(f"[forest] {n}/{n_wanted} trees  {now - self._begin:.1f} s")
