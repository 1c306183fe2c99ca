"""Train the trees of a forest: one problem, one part of it for each tree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from time import monotonic, sleep

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ngdt._core.threads import one_blas_thread
from ngdt._core.tree import Tree
from ngdt._estimators.description import describe
from ngdt._forest.sampling import Sampling, widen
from ngdt._selection.result import TrainingResult
from ngdt._selection.train import train
from ngdt._training.checkpoint import NO_CHECKPOINT
from ngdt._training.deadline import Deadline
from ngdt.initializers import Initializer
from ngdt.optimizers import LinearLeaves

# Seconds between two looks at what other threads have finished.
POLL_SECONDS = 0.01


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

    def fit(self, problem, seed, fitted, result=None):
        """Train a tree.

        Parameters
        ----------
        problem : Problem
            Of the whole forest.
        seed : int
        fitted : dict
            Fitted attributes that do not depend on the tree.
        result : TrainingResult or None, default=None
            Of the training before the process was killed.

        Returns
        -------
        TrainedTree
        """
        begin = monotonic()
        # Its own record of whether it was cut: other trees share the time, not the record.
        problem = problem.replace(
            deadline=Deadline(problem.deadline.end), random_state=seed,
            max_depth=min((each for each in (problem.max_depth, self.max_depth)
                           if each is not None), default=None))
        weight, features = self.sampling.weight(problem, seed), self.sampling.features(seed)
        part = problem.part(weight, features)
        trained = result = train(part, self.init, self._optimizers(features)) if (
            result is None) else result
        part.check_shapes(result.tree)
        tree = result.tree if features is None else (
            widen(result.tree, features, problem.X.shape[1]))
        result = replace(result, tree=stored(tree))
        parameters = {"max_depth": problem.max_depth, "random_state": seed,
                      "_draw": self.sampling.draw(problem.sample_weight)}
        return TrainedTree(
            describe(problem.part(weight), result, fitted) | parameters,
            result.interrupted, problem.deadline.has_cut, monotonic() - begin, trained)

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


def stored(tree):
    """The tree as it is kept: with sparse weights where they save half of it.

    Many samples take up to twice as long with sparse weights: they have to be worth it.
    """
    compact = tree.compact()
    return compact if 2 * compact.nbytes < tree.nbytes else tree


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
    result : TrainingResult or None
        What the attributes were made of, for a checkpoint.
    recipe : Recipe or None
        By which it was made; None on the way from another process.
    """

    attributes: dict
    interrupted: bool
    was_cut: bool
    seconds: float
    result: TrainingResult | None = None
    recipe: Recipe | None = None


class Jobs(list):
    """What threads of this process have begun, or finished; other processes have their own."""

    def __reduce__(self):
        return Jobs, ()


def _fit(place, recipe, problem, activity, seed, fitted, result, is_kept, begun, finished):
    """Train the tree of a place, and leave it where it is found after Ctrl-C or an error.

    The problem is that of all trees, so that other machines get it once.
    """
    begun.append(seed)
    tree = None
    try:
        tree = recipe.fit(problem.replace(activity=activity), seed, fitted, result)
        if not is_kept:     # several times as large as the attributes where weights are sparse
            tree = replace(tree, result=None)
    finally:
        finished.append((place, tree, recipe))
    return tree


def _backend():
    return get_active_backend(prefer="threads")[0]


def _return_as():
    """How joblib returns trees: one by one, unless its backend has them only all at once."""
    return "generator" if _backend().supports_return_generator else "list"


class _InStoreOfRay:
    """A problem for tasks of Ray, to which it is sent once.

    Ray's pool would do so itself, but looks for a class that joblib no longer has, since 1.3.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem):
        import ray

        self._problem, self._get, self._reference = problem, ray.get, ray.put(problem)

    def __reduce__(self):
        return self._get, (self._reference,)

    def replace(self, **changes):
        """For joblib with one job, which calls tasks itself."""
        return self._problem.replace(**changes)


def _sent_once(problem):
    """The problem as an argument of tasks that does not travel with each of them.

    Threads share it, and joblib's backend for Dask scatters it by itself.
    """
    is_ray = type(_backend()).__module__.startswith("ray.")
    return _InStoreOfRay(problem) if is_ray else problem


class Growth:
    """The trees that have been trained so far.

    Parameters
    ----------
    problem : Problem
        Of the whole forest.
    fitted : dict
        Fitted attributes that do not depend on a tree.
    tasks : FitTasks
        Of the `fit` of the forest.
    attributes : callable
        Takes trees, and returns the fitted attributes of a forest of them.

    Attributes
    ----------
    trees : list of TrainedTree
    interrupted : bool
        Whether Ctrl-C ended the training.
    was_cut : bool
        Whether the deadline did, or shortened the training of a tree.
    """

    def __init__(self, problem, fitted, tasks, attributes):
        self.problem, self.fitted, self.tasks, self.attributes = problem, fitted, tasks, attributes
        self.trees, self.interrupted = [], False

    @property
    def was_cut(self):
        return self.problem.deadline.has_cut or any(tree.was_cut for tree in self.trees)

    def add(self, tasks, what="trees"):
        """Train trees until Ctrl-C, the deadline, or a callback ends this.

        Trees are kept as soon as they are trained. Ctrl-C before the first raises
        KeyboardInterrupt.

        Parameters
        ----------
        tasks : sequence of tuple (Recipe, int)
            For each tree, how it is made, and its seed.
        what : str, default="trees"
            What they are, for callbacks.
        """
        stop, begun, finished = Event(), Jobs(), Jobs()
        activity = self.problem.activity
        problem = self.problem.replace(
            n_jobs=1, verbose=0, callback=None, activity=activity.part(activity.left, stop=stop),
            checkpoint=NO_CHECKPOINT)
        checkpoint = self.problem.checkpoint
        is_kept = checkpoint is not NO_CHECKPOINT
        group = checkpoint.next_group()
        run = Parallel(
            self.problem.n_jobs, prefer="threads", return_as=_return_as(), pre_dispatch="n_jobs",
            batch_size=1)
        parts = [problem.activity.part(1 / len(tasks), f"tree {k + 1} of {len(tasks)}")
                 for k in range(len(tasks))]
        shared = _sent_once(problem)
        jobs = (delayed(_fit)(k, recipe, shared, part, seed, self.fitted,
                              checkpoint.known(TrainingResult, (group, k)), is_kept, begun,
                              finished)
                for k, (part, (recipe, seed)) in enumerate(
                    zip(parts, self._in_time(tasks), strict=False)))
        self.tasks.begin_part(what, "tree", len(tasks))
        try:
            # Trees in several threads must not start threads of BLAS in each.
            with one_blas_thread:
                for k, (tree, (recipe, _), part) in enumerate(
                        zip(run(jobs), tasks, parts, strict=False)):
                    if self.problem.deadline.is_stopped:
                        continue    # another thread had begun it
                    self._add(tree, recipe)
                    checkpoint.add((group, k), tree.result)
                    part.finish()
                    if self.tasks.step(lambda: self.attributes(self.trees)):
                        self.problem.deadline.stop()
                        stop.set()
        except KeyboardInterrupt:
            stop.set()
            if not self.trees:
                self._add_first(begun, finished)
            if not self.trees:
                raise
            self.interrupted = not self.problem.deadline.is_stopped
        except Exception:
            # Trees of other threads that wait for one before them.
            for k, tree, _ in finished:
                if tree is not None and is_kept:
                    checkpoint.add((group, k), tree.result)
            raise
        finally:
            stop.set()

    def _add(self, tree, recipe):
        """Keep a tree, unless Ctrl-C ended its training and there are others."""
        if not (tree.interrupted and self.trees):
            recipe.share(tree.attributes, self.problem.moments)
            self.trees.append(replace(tree, result=None, recipe=recipe))
        if tree.interrupted:
            raise KeyboardInterrupt

    def _add_first(self, begun, finished):
        """Keep a tree that another thread has begun, once it has ended its training."""
        while len(finished) < len(begun):
            sleep(POLL_SECONDS)
        for _, tree, recipe in finished:
            if tree is not None and not self.trees:
                self._add(replace(tree, interrupted=False), recipe)

    def _in_time(self, tasks):
        """The tasks, as long as there is time for another tree."""
        for task in tasks:
            if self.trees and not self.problem.deadline.fits(self.trees[-1].seconds):
                return
            yield task
