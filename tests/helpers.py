"""Problems, trees and checks that the tests of several modules share."""

import ast
import os
import re
import threading
import time
from functools import cache
from itertools import product
from unittest import mock

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

from ngdt import Tree
from ngdt._core.structure import balanced_children
from ngdt._training.problem import Limits, Problem
from ngdt.export import export_text
from ngdt.initializers import ModelTree
from ngdt.losses import LOSSES, LogLoss, SquaredLoss
from ngdt.optimizers import SGD, EndToEnd, LinearLeaves, Optimizer, OptimizerResult
from ngdt.testing.strategies import trees
from reference import splits

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
# Losses with the impurity that greedy splits lower.
TASKS = pytest.mark.parametrize(("loss", "impurity"), [
    (LogLoss(), splits.entropy), (SquaredLoss(), splits.variance)])


# --- how much is tried ---------------------------------------------------------------------------


def in_nightly(cases):
    """The cases in the nightly profile, and none in others."""
    return list(cases) if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else []


def examples(times):
    """Settings: so many times the examples of the profile, at least one."""
    return settings(max_examples=max(1, round(times * settings.default.max_examples)))


# --- source code ---------------------------------------------------------------------------------


@cache      # of the same source in several tests
def statements(text):
    """The statements in a source, those within others too; `ast.walk` goes on to names."""
    def within(node):
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            for each in getattr(node, part, ()):
                yield each
                yield from within(each)

    return list(within(ast.parse(text)))


# --- problems ------------------------------------------------------------------------------------


def make_problem(X, y, loss="log_loss", sample_weight=None, *, n_outputs=None, **fields):
    """A problem of labels 0, 1, ..., or of regression targets; all weights are 1 by default."""
    loss = LOSSES[loss]() if isinstance(loss, str) else loss
    if n_outputs is None:
        n_outputs = (
            int(np.max(y)) + 1 if loss.is_classifier else np.reshape(y, (len(y), -1)).shape[1])
    if sample_weight is None:
        sample_weight = np.ones(X.shape[0])
    limits = {name: fields.pop(name) for name in Limits._fields if name in fields}
    return Problem(X, loss.encode(np.asarray(y), n_outputs), loss, n_outputs,
                   np.asarray(sample_weight, dtype=np.float64), **fields).limited(**limits)


def dense(X):
    """The samples of a matrix in any form as an array."""
    return X.toarray() if sparse.issparse(X) else X


def iris_problem(loss=None, form=np.asarray, **fields):
    """150 samples, every third of them for validation; two targets for regression."""
    X, y = load_iris(return_X_y=True)
    loss = loss or LogLoss()
    if not loss.is_classifier:
        y = np.column_stack([X[:, 3], y]) - 1.0
    validation_weight = (np.arange(len(X)) % 3 == 0).astype(float)
    return make_problem(form(X), y, loss, 1.0 - validation_weight,
                        validation_weight=validation_weight, **fields)


def oblique_problem(loss, *, form=np.asarray, seed=0, n=80, max_depth=4):
    """Classes or values on the two sides of a plane, with some noise, and the dense samples.

    Some samples have weight 0.
    """
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).round(1)
    y = (X @ [1.0, -1.0, 0.5] > 0.2) ^ (random.random(n) < 0.05)
    y = y.astype(float)[:, None] if loss.is_classifier else y[:, None] + 0.1 * X[:, :1]
    weight = random.choice([0.0, 0.5, 1.0, 2.0], n)
    return Problem(form(X), y, loss, 2 if loss.is_classifier else 1, weight).limited(
        max_depth=max_depth), X


@st.composite
def hard_problems(draw):
    """Trees and problems of any unit, with constant features and weights of very different size."""
    tree = draw(trees())
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    n, p, k = draw(st.integers(1, 30)), tree.n_features, tree.n_outputs
    standardize = draw(st.sampled_from(["auto", "global", True, False]))
    # Training is in float32: without scaling, features must fit it, squares included.
    scale = draw(st.sampled_from([1.0, 1e-10, 1e10] + (
        [1e-120, 1e-30, 1e30, 1e120] if standardize else [])))
    dtype = np.float32 if 1e-31 < scale < 1e31 and draw(st.booleans()) else np.float64
    X = random.normal(size=(n, p)) * scale
    X += draw(st.sampled_from([0.0, 1e6])) * scale
    X[:, random.random(p) < draw(st.sampled_from([0.0, 0.5, 1.0]))] = scale     # constant
    X = X.astype(dtype)
    classes = draw(st.booleans())
    if classes:
        loss, y = LogLoss(), random.integers(0, draw(st.integers(1, k)), (n, 1)).astype(float)
    else:
        loss, y = SquaredLoss(), random.normal(size=(n, k))
    weight = random.choice([0.0, 0.0, 1e-6, 1.0, 1e6], n)
    weight[random.integers(n)] = 1.0
    validation = (weight == 0).astype(float) if (weight == 0).any() else None
    return tree, Problem(
        sparse.csr_array(X) if draw(st.booleans()) else X, y, loss, k, weight, validation,
        standardize=standardize).limited(max_depth=3)


# --- algorithms of the registries ----------------------------------------------------------------

# Enough training for what does not depend on how long it is, by the names of parameters.
SHORT = {
    "epochs": 3, "steps": 30, "max_iter": 2, "stump": EndToEnd(epochs=30),
    "optimizer": SGD(epochs=3)}


def short(algorithm):
    """An initializer or optimizer that trains for a short time."""
    if algorithm is LinearLeaves:   # which tries many penalties
        return LinearLeaves(penalty=1.0)
    if algorithm is ModelTree:      # and folds
        return ModelTree(penalty=1.0, n_folds=1)
    parameters = SHORT.keys() & algorithm().get_params(deep=False).keys()
    return algorithm(**{name: SHORT[name] for name in parameters})


def serves(algorithm, loss):
    """Return whether an initializer or optimizer takes problems of this loss and of any size."""
    problem = Problem(np.ones((1, 1)), np.zeros((1, 1)), loss, 3, np.ones(1))
    try:
        algorithm.check(problem)
    except ValueError:
        return False
    return True


# --- trees ---------------------------------------------------------------------------------------


def random_children(random, m, chain=False):
    """Left and right children of a tree of m nodes, grown at random places or as a chain."""
    children = np.zeros((2, m), dtype=np.int32)
    slots = [(0, 0), (1, 0)]
    for node in range(1, m):
        side, parent = slots.pop(-1 if chain else random.integers(len(slots)))
        children[side, parent] = node
        slots += [(0, node), (1, node)]
    for leaf, (side, parent) in enumerate(slots):
        children[side, parent] = ~leaf
    return children


def complete_tree(depth, n_features=6):
    """Complete tree of a depth, each node with weights of its own."""
    m = 2**depth - 1
    weights = np.arange(m * n_features, dtype=float).reshape(m, n_features)
    return Tree(weights, np.zeros(m), *balanced_children(m + 1), np.eye(m + 1))


def prunings(tree, child):
    """All sets of nodes and leaves that subtrees may be turned into."""
    yield (child,)
    if child >= 0:
        sides = tree.children_left[child], tree.children_right[child]
        for left, right in product(*(list(prunings(tree, side)) for side in sides)):
            yield (*left, *right)


def nested(tree, X, weight):
    """A tree of axis-aligned splits in the form of `reference.splits.grow`."""
    leaf = tree.apply(X)

    def node(i):
        if i < 0:
            return tuple(np.flatnonzero((leaf == ~i) & (weight > 0)).tolist())
        (feature,) = np.flatnonzero(tree.weights[i])
        return (feature, tree.thresholds[i],
                node(tree.children_left[i]), node(tree.children_right[i]))

    return node(0 if tree.n_internal else ~0)


# --- checks --------------------------------------------------------------------------------------


class Wrecker(Optimizer):
    """Returns the same splits with leaves that know nothing."""

    is_stochastic = True

    def _optimize(self, tree, problem):
        return OptimizerResult(tree.replace(values=np.zeros_like(tree.values)))


class StopAt:
    """Callback that interrupts training at the end of an epoch, counted over all optimizers."""

    def __init__(self, epoch):
        self.epoch, self.seen = epoch, []

    def __call__(self, progress):
        self.seen.append(progress)
        if len(self.seen) == self.epoch:
            raise KeyboardInterrupt


class Interruption:
    """Stands for a function, and raises KeyboardInterrupt at the given calls."""

    def __init__(self, monkeypatch, owner, name, *calls):
        self.original, self.calls, self.seen = getattr(owner, name), calls, []
        monkeypatch.setattr(owner, name, lambda *arguments, **options: self(*arguments, **options))

    def __call__(self, *arguments, **options):
        self.seen.append(arguments)
        if len(self.seen) in self.calls:
            raise KeyboardInterrupt
        return self.original(*arguments, **options)


class InterruptedSearch:
    """Lets Ctrl-C come at one of the searches for splits of a greedy initializer.

    The first search is that of the root. Then each split is followed by two searches.
    """

    def __init__(self, monkeypatch, initializer, n_searches):
        make, self.left = initializer._strategy, n_searches

        def strategy(initializer, problem):
            self.inner = make(initializer, problem)
            return self

        monkeypatch.setattr(initializer, "_strategy", strategy)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def split(self, samples, min_samples_leaf):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return self.inner.split(samples, min_samples_leaf)


def assert_other_threads_run(epoch):
    """Check that a kernel lets go of the interpreter.

    ``epoch(times)`` returns a function that runs the kernel over `times` times its samples.
    """
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.002):
            ticks.append(time.perf_counter())

    def ticks_inside(times):
        run = epoch(times)
        start = time.perf_counter()
        run()
        end = time.perf_counter()
        # Not at the edges, where the epoch's Python code lets others have a turn.
        margin = 0.1 * (end - start)
        return end - start, sum(start + margin < tick < end - margin for tick in list(ticks))

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        # On a busy machine, the thread may wait for a core: it has to run if there is time enough.
        times, seconds, inside = 1, 0.0, 0
        while inside < 3 and seconds < 0.8:
            seconds, inside = ticks_inside(times)
            times *= 2
    finally:
        over.set()
        thread.join()
    assert inside >= 3


# --- texts ----------------------------------------------------------------------------------------


def rules_text(model, **options):
    """`export_text` in long lines, without what the tree is, and without numbers of samples."""
    with mock.patch("ngdt._util.text._WIDTH", 10**6):
        text = export_text(model, **{"show_weights": False} | options)
    return re.sub(r"\A# .*\n", "", text)
