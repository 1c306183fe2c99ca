"""Training of the trees of a forest: one problem, one part of it for each tree."""

from dataclasses import dataclass, replace
from itertools import takewhile
from threading import Event
from time import monotonic, sleep

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ngdt._core.threads import one_blas_thread
from ngdt._estimators.description import describe
from ngdt._forest.sampling import Sampling, optimizer_of, widen
from ngdt._selection.train import train
from ngdt._training.choice import Candidate
from ngdt._training.control import NO_CHECKPOINT, Activity, Control, Deadline
from ngdt._training.result import TrainingResult
from ngdt._util.stopped import Stopped

# Seconds between two looks at what other threads have finished.
POLL_SECONDS = 0.01


@dataclass(frozen=True, eq=False)
class Recipe:
    """Way to make a tree: by a candidate, of samples and features that are drawn."""

    candidate: Candidate
    sampling: Sampling

    def share(self, attributes, moments):
        """Let a tree of another process have no copies of what all trees have."""
        attributes |= {
            "init": self.candidate.make.init,
            "optimizer": list(self.candidate.make.optimizers) or None,
            "_sample_summary": replace(attributes["_sample_summary"], **{
                name: getattr(moments, name) for name in ("mean", "std", "low", "high")})}


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
    interrupted: bool   # whether Ctrl-C ended its training
    was_cut: bool       # whether the deadline shortened it
    seconds: float
    result: TrainingResult | None = None    # what the attributes were made of, for a checkpoint
    recipe: Recipe | None = None            # None on the way from another process


@dataclass(frozen=True, eq=False)
class _Job:
    """The training of a tree by a recipe; all draws depend on its seed."""

    recipe: Recipe
    seed: int
    activity: Activity
    key: tuple[int, int]            # of its result in the checkpoint
    result: TrainingResult | None   # if the checkpoint has it
    is_stored: bool                 # whether there is a checkpoint

    def run(self, problem, fitted, log):
        """Train the tree, and leave it where it is found after Ctrl-C or an error."""
        log.begun.append(self)
        tree = None
        try:
            tree = self._train(problem, fitted)
        finally:
            log.ended.append((self, tree))
        return tree

    def _train(self, problem, fitted):
        begin, chain, sampling = monotonic(), self.recipe.candidate.make, self.recipe.sampling
        # Its own record of whether it was cut: other trees share the time, not the record.
        deadline = Deadline(problem.control.deadline.end)
        limits = [each for each in (problem.max_depth, chain.max_depth) if each is not None]
        problem = problem.replace(
            control=replace(problem.control, deadline=deadline, activity=self.activity),
            random_state=self.seed, max_depth=min(limits, default=None))
        weight, features = sampling.weight(problem, self.seed), sampling.features(self.seed)
        part, result, interrupted = problem.part(weight, features), self.result, False
        if result is None:
            optimizers = [optimizer_of(each, features) for each in chain.optimizers]
            try:
                result = train(part, chain.init, optimizers)
            except Stopped as stopped:
                result, interrupted = TrainingResult(stopped.tree, stopped.history), True
        part.check_shapes(result.tree)
        tree = stored(widen(result.tree, features, problem.X.shape[1]))
        attributes = describe(problem.part(weight), replace(result, tree=tree), fitted) | {
            "max_depth": problem.max_depth, "random_state": self.seed,
            "_draw": sampling.draw(problem.sample_weight)}
        # The result is several times as large as the attributes where weights are sparse.
        return TrainedTree(attributes, interrupted, deadline.has_cut, monotonic() - begin,
                           result if self.is_stored else None)


class _Log:
    """Jobs that threads of this process have begun, and ended, with their trees."""

    def __init__(self):
        self.begun, self.ended = [], []

    def __reduce__(self):
        return _Log, ()     # another process has its own


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
        """Whether the deadline ended the training, or shortened that of a tree."""
        return self.problem.control.deadline.has_cut or any(tree.was_cut for tree in self.trees)

    def add(self, plan, what="trees"):
        """Train a tree for each recipe and seed of a plan.

        Trees are kept as soon as they are trained, until Ctrl-C, the deadline, or a callback, which
        is told what they are, ends this. Ctrl-C before the first raises KeyboardInterrupt.
        """
        stop, log, control = Event(), _Log(), self.problem.control
        jobs, deadline = self._jobs(plan, stop), control.deadline
        # Other machines get the problem once, as it is the same for all trees.
        shared = self.problem.replace(n_jobs=1, control=Control(deadline))
        calls = (delayed(job.run)(shared, self.fitted, log)
                 for job in takewhile(self._has_time, jobs))
        self.tasks.begin_part(what, "tree", len(jobs))
        try:
            # Trees in several threads must not start threads of BLAS in each.
            with one_blas_thread:
                for tree, job in zip(self._parallel()(calls), jobs, strict=False):
                    if deadline.is_stopped:
                        continue    # another thread had begun it
                    self._add(tree, job.recipe)
                    control.checkpoint.add(job.key, tree.result)
                    job.activity.finish()
                    if self.tasks.step(lambda: self.attributes(self.trees)):
                        deadline.stop()
                        stop.set()
        except KeyboardInterrupt:
            stop.set()
            if not self.trees:
                self._add_first(log)
            if not self.trees:
                raise
            self.interrupted = not deadline.is_stopped
        except Exception:
            # Trees of other threads that wait for one before them.
            for job, tree in log.ended:
                if tree is not None and job.is_stored:
                    control.checkpoint.add(job.key, tree.result)
            raise
        finally:
            stop.set()

    def _jobs(self, plan, stop):
        control, n = self.problem.control, len(plan)
        activity = control.activity.part(control.activity.left, stop=stop)
        group, is_stored = control.checkpoint.next_group(), control.checkpoint is not NO_CHECKPOINT
        return [
            _Job(recipe, seed, activity.part(1 / n, f"tree {k + 1} of {n}"), (group, k),
                 control.checkpoint.known(TrainingResult, (group, k)), is_stored)
            for k, (recipe, seed) in enumerate(plan)]

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

    def _add_first(self, log):
        """Keep a tree that another thread has begun, once it has ended its training."""
        while len(log.ended) < len(log.begun):
            sleep(POLL_SECONDS)
        for job, tree in log.ended:
            if tree is not None and not self.trees:
                self._add(replace(tree, interrupted=False), job.recipe)

    def _has_time(self, job):
        """Return whether there is time for another tree."""
        return not self.trees or self.problem.control.deadline.fits(self.trees[-1].seconds)
