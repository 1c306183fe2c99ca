"""Training by named methods."""

from dataclasses import dataclass, replace

import numpy as np

from ngdt._core.tree import Tree
from ngdt._methods.initializer import Initializer
from ngdt._methods.optimizer import Optimizer
from ngdt._selection import policy
from ngdt._training.folds import held_out_of
from ngdt._training.monotone import freed
from ngdt._training.result import TrainingResult, append_metrics, empty_history
from ngdt._training.size_limits import enforce_limits
from ngdt._training.wide_data import optimize_reduced
from ngdt._util.stopped import Stopped


@dataclass(frozen=True, eq=False)
class Candidate:
    """An initial tree, and optimizers that train it in turn."""

    name: str
    init: Initializer | Tree | str      # the name of one of the trees of a fold
    optimizers: tuple[Optimizer, ...] = ()
    final: tuple[Optimizer, ...] | None = None  # in their place, where all samples are trained on
    max_depth: int | None = None        # of the initial tree
    free_levels: int = 0                # as in a `Problem`

    def make(self, fold):
        """The `TrainingResult` for the training samples of a fold."""
        problem = fold.problem.replace(free_levels=self.free_levels)
        optimizers = self.final if self.final and fold.samples is None else self.optimizers
        if self.max_depth is not None:
            fold = replace(fold, problem=fold.problem.limited(max_depth=self.max_depth))
        tree, history = fold.initial(self.init), empty_history(optimizers)
        tree = freed(tree, problem) if self.free_levels else tree
        problem = problem.doing(problem.control.activity.left)
        return TrainingResult(run_in_turn(problem, tree, optimizers, history), history)


def run_in_turn(problem, tree, optimizers, history, is_given=False):
    """The tree after all optimizers, whose metrics are added to a history.

    A tree that is given is not the tree of an initializer. Ctrl-C raises Stopped with the tree so
    far, and KeyboardInterrupt before there is one.
    """
    for i, optimizer in enumerate(optimizers):
        if i > 0 and not problem.control.deadline.fits():
            break
        seeded = problem.with_time(1 / (len(optimizers) - i)).replace(
            random_state=(problem.random_state + i) % 2**31).doing(1 / len(optimizers))
        try:
            result = (optimizer.optimize(tree, seeded) if is_given
                      else optimize_reduced(optimizer, tree, seeded))
        except Stopped as stopped:
            append_metrics(history, optimizer, stopped.history)
            raise Stopped(stopped.tree, history) from stopped
        except KeyboardInterrupt as error:
            if i == 0:      # there is no trained tree yet
                raise
            raise Stopped(tree, history) from error
        tree = result.tree
        append_metrics(history, optimizer, result.history)
    return tree


def train(problem, init, optimizers, *, validation_fraction=None, limit=True):
    """Make a tree, and run the optimizers on it in order.

    Optimizers choose epochs and subtrees by validation samples: those of the problem, which are
    given apart, or a share of the others, `validation_fraction` as that of the estimators. If the
    initial tree has less error on training and on validation samples, it is kept, unless the
    optimizer pays with training error for a simpler tree, or smoother leaves, or
    `validation_fraction` is None or 0 and the training was neither shortened nor interrupted. With
    `limit`, the limits of the problem are enforced.

    Returns a `TrainingResult`. Ctrl-C raises Stopped with the present trained tree, and
    KeyboardInterrupt before there is one.
    """
    for algorithm in (*optimizers, init):     # those that are named before those that follow
        if not isinstance(algorithm, Tree):
            algorithm.check(problem)
    tree, is_given, history = init, isinstance(init, Tree), empty_history(optimizers)
    if optimizers and not problem.own_validation:   # without optimizers nothing is validated
        training, validation = held_out_of(problem, validation_fraction)
        problem = problem.replace(sample_weight=training, validation_weight=validation)

    def result_of(trained, is_ended):
        # Training samples decide, unless a method is wanted as it is, and was not ended: after a
        # few steps, a tree may be wrong more often than right.
        is_kept = (is_ended or bool(validation_fraction)) and isinstance(tree, Tree) and _is_worse(
            problem, optimizers, tree, trained)
        found = tree if is_kept else trained
        return TrainingResult(
            enforce_limits(found, problem) if limit else found, history, is_kept)

    trained, deadline = None, problem.control.deadline
    try:
        if not is_given:
            part = problem.with_time(policy.INITIAL_TIME if optimizers else 1.0)
            tree = init.initialize(part.doing(1 / (1 + len(optimizers)), "initial tree"))
        trained = run_in_turn(problem, tree, optimizers, history, is_given)
        return result_of(trained, deadline.has_cut)
    except KeyboardInterrupt as error:
        found = getattr(error, "tree", None) if trained is None else trained
        if found is None:
            raise
        best = result_of(found, trained is None or deadline.has_cut)
        raise Stopped(best.tree, history, baseline_kept=best.baseline_kept) from error


def _is_worse(problem, optimizers, initial, tree):
    """Return whether a tree has more error than the initial one where it should have less."""
    is_simpler = tree.n_leaves < initial.n_leaves or tree.n_nonzero < initial.n_nonzero
    has_same_splits = np.array_equal(tree.thresholds, initial.thresholds)
    if not optimizers or (optimizers[0].regularizes and (is_simpler or has_same_splits)):
        return False
    every = np.arange(len(problem.y), dtype=np.int32)
    saved = problem.errors(initial, every) - problem.errors(tree, every)
    weight, validation = problem.sample_weight, problem.validation_weight
    return weight @ saved < 0.0 and (validation is None or validation @ saved <= 0.0)
