"""Training of the trees of a forest: one problem, one part of it for each tree."""

from dataclasses import dataclass, replace
from threading import Event
from time import monotonic, sleep

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ngdt._core.threads import one_blas_thread
from ngdt._core.tree import Tree
from ngdt._estimators.description import describe
from ngdt._estimators.summary import noun_of
from ngdt._forest.sampling import Sampling, optimizer_of
from ngdt._selection.train import Candidate, train
from ngdt._training.control import NO_CHECKPOINT, Activity, Control, Deadline
from ngdt._training.far_targets import FarTargets
from ngdt._training.result import TrainingResult
from ngdt._training.wide_data import for_all_features
from ngdt._util.stopped import Stopped

# Seconds between two looks at what other threads have finished.
POLL_SECONDS = 0.01


def stored(tree):
    """The tree as it is kept: with sparse weights where they save half of it.

    Many samples take up to twice as long with sparse weights: they have to be worth it.
    """
    compact = tree.compact()
    return compact if 2 * compact.nbytes < tree.nbytes else tree


@dataclass(frozen=True)
class TrainedTree:
    """A tree of a forest."""

    attributes: dict    # fitted attributes and parameters of the estimator of the tree
    kind: str           # name of its candidate
    interrupted: bool   # whether Ctrl-C ended its training
    was_cut: bool       # whether the deadline shortened it
    seconds: float
    result: TrainingResult | None   # what the attributes were made of, for a checkpoint


@dataclass(eq=False)
class _Job:
    """The training of a tree; all draws depend on its seed."""

    candidate: Candidate
    sampling: Sampling
    seed: int
    activity: Activity
    key: tuple[int, int]            # of its result in the checkpoint
    result: TrainingResult | None   # if the checkpoint has it
    is_stored: bool                 # whether there is a checkpoint
    # What this process knows of the training, in one of its threads.
    is_running: bool = False
    tree: TrainedTree | None = None

    def run(self, problem, fitted):
        """Train the tree, and leave it where it is found after Ctrl-C or an error."""
        if isinstance(problem, _InStoreOfRay):      # joblib calls a single job itself
            problem = problem.problem
        self.is_running = True
        try:
            self.tree = self._train(problem, fitted)
        finally:
            self.is_running = False
        return self.tree

    def _train(self, problem, fitted):
        begin, candidate, sampling = monotonic(), self.candidate, self.sampling
        # Its own record of whether it was cut: other trees share the time, not the record.
        deadline = Deadline(problem.control.deadline.end)
        if candidate.max_depth is not None:
            problem = problem.limited(max_depth=problem.limits.depth(candidate.max_depth))
        problem = problem.replace(
            control=replace(problem.control, deadline=deadline, activity=self.activity),
            random_state=self.seed, validation_weight=None)
        weight, features = sampling.weight(problem, self.seed), sampling.features(self.seed)
        near = problem.near
        # Few far targets are left out, unless no others were drawn.
        drawn = np.where(near.sample_weight > 0, weight, 0.0)
        drawn = drawn if drawn.any() else weight
        part, result, interrupted = near.part(drawn, features), self.result, False
        whole, init = problem.part(weight), candidate.init
        far_targets = FarTargets(whole, near.part(drawn))
        if isinstance(init, Tree):
            init = far_targets.withdraw(init)
        if result is None:
            optimizers = [optimizer_of(each, features) for each in candidate.optimizers]
            try:
                result = train(part, init, optimizers)
            except Stopped as stopped:
                result, interrupted = TrainingResult(
                    stopped.tree, stopped.history, stopped.baseline_kept), True
        part._check_shapes(result.tree)
        tree = far_targets.restore(for_all_features(result.tree, features, problem.X.shape[1]))
        attributes = describe(whole, replace(result, tree=stored(tree)), fitted) | {
            "max_depth": problem.limits.max_depth, "random_state": self.seed,
            "_draw": sampling.draw(problem), "_noun": noun_of(candidate.init)}
        # The result is several times as large as the attributes where weights are sparse.
        return TrainedTree(attributes, candidate.name, interrupted, deadline.has_cut,
                           monotonic() - begin, result if self.is_stored else None)


def _backend():
    return get_active_backend(prefer="threads")[0]


class _InStoreOfRay:
    """A problem that is sent to Ray once, not with each tree.

    Its pool of processes would do so itself, but looks for a class that joblib lacks since 1.3.
    """

    def __init__(self, problem):
        import ray

        self.problem, self._get, self._reference = problem, ray.get, ray.put(problem)

    def __reduce__(self):
        return self._get, (self._reference,)


def _sent_once(problem):
    return _InStoreOfRay(problem) if type(_backend()).__module__.startswith("ray.") else problem


class Growth:
    """The trees of a forest that have been trained so far.

    The problem, the attributes in `fitted` and the `FitTasks` are those of the forest, and
    `attributes` returns the fitted attributes of a forest of some trees.
    """

    def __init__(self, problem, fitted, tasks, attributes):
        self.problem, self.fitted, self.tasks, self.attributes = problem, fitted, tasks, attributes
        self.trees, self.interrupted = [], False

    @property
    def was_cut(self):
        """True if the deadline ended the training, or shortened the training of a tree."""
        return self.problem.control.deadline.has_cut or any(tree.was_cut for tree in self.trees)

    def add(self, plan, what="trees"):
        """Train a tree for each candidate, sampling and seed of a plan.

        Trees are kept as soon as they are trained, until Ctrl-C, the deadline, or a callback, which
        is told what they are, ends this. Ctrl-C before the first raises KeyboardInterrupt.
        """
        stop, control = Event(), self.problem.control
        jobs, deadline = self._jobs(plan, stop), control.deadline
        # Other machines get the problem once, as it is the same for all trees.
        shared = _sent_once(self.problem.replace(n_jobs=1, control=Control(deadline)))
        calls = (delayed(job.run)(shared, self.fitted)
                 for job in self._with_time(jobs))
        self.tasks.begin_part(what, "tree", len(jobs))
        try:
            # Trees in several threads must not start threads of BLAS in each.
            with one_blas_thread:
                for tree, job in zip(self._parallel(len(jobs))(calls), jobs, strict=False):
                    if deadline.is_stopped:
                        continue    # another thread had begun it
                    self._add(tree, job.candidate)
                    control.checkpoint.add(job.key, tree.result)
                    job.activity.finish()
                    if self.tasks.step(lambda: self.attributes(self.trees)):
                        deadline.stop()
                        stop.set()
        except KeyboardInterrupt:
            stop.set()
            if not self.trees:
                self._add_first(jobs)
            if not self.trees:
                raise
            self.interrupted = not deadline.is_stopped
        except Exception:
            # Trees of other threads that wait for one before them.
            for job in jobs:
                if job.tree is not None:
                    control.checkpoint.add(job.key, job.tree.result)
            raise
        finally:
            stop.set()

    def _jobs(self, plan, stop):
        control, n = self.problem.control, len(plan)
        activity = control.activity.part(control.activity.left, stop=stop)
        group, is_stored = control.checkpoint.next_group(), control.checkpoint is not NO_CHECKPOINT
        return [
            _Job(*each, activity.part(1 / n, f"tree {k + 1} of {n}"), (group, k),
                 control.checkpoint.known(TrainingResult, (group, k)), is_stored)
            for k, each in enumerate(plan)]

    def _parallel(self, n_trees):
        """The backend of joblib: trees one by one, unless it has them only all at once."""
        # It starts as many threads as it is told to, which takes long for thousands.
        return Parallel(
            min(self.problem.n_jobs, n_trees), prefer="threads", pre_dispatch="n_jobs",
            batch_size=1, return_as="generator" if _backend().supports_return_generator else "list")

    def _add(self, tree, candidate):
        """Keep a tree, unless Ctrl-C ended its training and there are others."""
        if not (tree.interrupted and self.trees):
            # A tree of another process has copies of what all trees have.
            tree.attributes.update(
                init=candidate.init, optimizer=list(candidate.optimizers) or None,
                _sample_summary=replace(tree.attributes["_sample_summary"], **{
                    name: getattr(self.problem.moments, name)
                    for name in ("mean", "std", "low", "high")}))
            self.trees.append(replace(tree, result=None))
        if tree.interrupted:
            raise KeyboardInterrupt

    def _add_first(self, jobs):
        """Keep a tree that another thread has begun, once it has ended its training."""
        while any(job.is_running for job in jobs):
            sleep(POLL_SECONDS)
        for job in jobs:
            if job.tree is not None and not self.trees:
                self._add(replace(job.tree, interrupted=False), job.candidate)

    def _with_time(self, jobs):
        """Yield the jobs, as long as there is time for another one."""
        begin = monotonic()
        for number, job in enumerate(jobs):
            if self.trees or number >= self.problem.n_jobs:     # then one has ended, kept or not
                seconds = self.trees[-1].seconds if self.trees else monotonic() - begin
                if not self.problem.control.deadline.fits(seconds):
                    return
            yield job
