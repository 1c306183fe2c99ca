"""Train the trees of a forest: one problem, one part of it for each tree."""

from dataclasses import dataclass, replace
from threading import Event
from time import monotonic, sleep

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ngdt._core.threads import one_blas_thread
from ngdt._estimators.description import describe
from ngdt._forest.sampling import Sampling, widen
from ngdt._methods.linear_leaves.linear_leaves import LinearLeaves
from ngdt._selection.train import train
from ngdt._training.choice import Candidate
from ngdt._training.control import NO_CHECKPOINT, Control, Deadline
from ngdt._training.result import TrainingResult
from ngdt._util.stopped import Stopped

# Seconds between two looks at what other threads have finished.
POLL_SECONDS = 0.01


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a tree is made: by a candidate, of samples and features that are drawn."""

    candidate: Candidate
    sampling: Sampling

    def fit(self, problem, seed, fitted, result=None):
        """Train the tree of a seed, of the problem of the forest, unless its result is known."""
        begin, chain = monotonic(), self.candidate.make
        # Its own record of whether it was cut: other trees share the time, not the record.
        control = replace(problem.control, deadline=Deadline(problem.control.deadline.end))
        problem = problem.replace(control=control, random_state=seed, max_depth=min(
            (each for each in (problem.max_depth, chain.max_depth) if each is not None),
            default=None))
        weight, features = self.sampling.weight(problem, seed), self.sampling.features(seed)
        part, interrupted = problem.part(weight, features), False
        optimizers = [_of_features(each, features) for each in chain.optimizers]
        try:
            trained = train(part, chain.init, optimizers) if result is None else result
        except Stopped as stopped:
            trained, interrupted = TrainingResult(stopped.tree, stopped.history), True
        part.check_shapes(trained.tree)
        tree = trained.tree if features is None else (
            widen(trained.tree, features, problem.X.shape[1]))
        described = describe(problem.part(weight), replace(trained, tree=stored(tree)), fitted)
        parameters = {"max_depth": problem.max_depth, "random_state": seed,
                      "_draw": self.sampling.draw(problem.sample_weight)}
        return TrainedTree(described | parameters, interrupted, control.deadline.has_cut,
                           monotonic() - begin, trained)

    def share(self, attributes, moments):
        """Let a tree of another process have no copies of what all trees have."""
        attributes |= {
            "init": self.candidate.make.init,
            "optimizer": list(self.candidate.make.optimizers) or None,
            "_sample_summary": replace(
                attributes["_sample_summary"], mean=moments.mean, std=moments.std,
                low=moments.low, high=moments.high)}


def _of_features(optimizer, features):
    """The optimizer for some of the features, which linear leaves may have been given."""
    if features is None or not isinstance(optimizer, LinearLeaves) or isinstance(
            optimizer.features, str):
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
    interrupted, was_cut : bool
        Whether Ctrl-C ended its training, and whether the deadline shortened it.
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


class _Jobs(list):
    """What threads of this process have begun, or finished; other processes have their own."""

    def __reduce__(self):
        return _Jobs, ()


def _fit(place, recipe, problem, activity, seed, fitted, result, is_stored, begun, finished):
    """Train the tree of a place, and leave it where it is found after Ctrl-C or an error.

    The problem is that of all trees, so that other machines get it once.
    """
    begun.append(seed)
    tree = None
    try:
        control = replace(problem.control, activity=activity)
        tree = recipe.fit(problem.replace(control=control), seed, fitted, result)
        if not is_stored:   # several times as large as the attributes where weights are sparse
            tree = replace(tree, result=None)
    finally:
        finished.append((place, tree, recipe))
    return tree


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
    """

    def __init__(self, problem, fitted, tasks, attributes):
        self.problem, self.fitted, self.tasks, self.attributes = problem, fitted, tasks, attributes
        self.trees, self.interrupted = [], False

    @property
    def was_cut(self):
        """Whether the deadline ended the training, or shortened that of a tree."""
        return self.problem.control.deadline.has_cut or any(tree.was_cut for tree in self.trees)

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
        stop, begun, finished = Event(), _Jobs(), _Jobs()
        control, group = self.problem.control, self.problem.control.checkpoint.next_group()
        deadline, activity = control.deadline, control.activity.part(
            control.activity.left, stop=stop)
        parts = [activity.part(1 / len(tasks), f"tree {k + 1} of {len(tasks)}")
                 for k in range(len(tasks))]
        is_stored = control.checkpoint is not NO_CHECKPOINT
        shared = self.problem.replace(n_jobs=1, control=Control(deadline))
        jobs = (delayed(_fit)(k, recipe, shared, part, seed, self.fitted,
                              control.checkpoint.known(TrainingResult, (group, k)), is_stored,
                              begun, finished)
                for k, (part, (recipe, seed)) in enumerate(
                    zip(parts, self._in_time(tasks), strict=False)))
        self.tasks.begin_part(what, "tree", len(tasks))
        try:
            # Trees in several threads must not start threads of BLAS in each.
            with one_blas_thread:
                for k, (tree, (recipe, _), part) in enumerate(
                        zip(self._parallel()(jobs), tasks, parts, strict=False)):
                    if deadline.is_stopped:
                        continue    # another thread had begun it
                    self._add(tree, recipe)
                    control.checkpoint.add((group, k), tree.result)
                    part.finish()
                    if self.tasks.step(lambda: self.attributes(self.trees)):
                        deadline.stop()
                        stop.set()
        except KeyboardInterrupt:
            stop.set()
            if not self.trees:
                self._add_first(begun, finished)
            if not self.trees:
                raise
            self.interrupted = not deadline.is_stopped
        except Exception:
            # Trees of other threads that wait for one before them.
            for k, tree, _ in finished:
                if tree is not None and is_stored:
                    control.checkpoint.add((group, k), tree.result)
            raise
        finally:
            stop.set()

    def _parallel(self):
        """The backend of joblib: trees one by one, unless it has them only all at once."""
        backend, _ = get_active_backend(prefer="threads")
        return Parallel(
            self.problem.n_jobs, prefer="threads", pre_dispatch="n_jobs", batch_size=1,
            return_as="generator" if backend.supports_return_generator else "list")

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
            if self.trees and not self.problem.control.deadline.fits(self.trees[-1].seconds):
                return
            yield task
