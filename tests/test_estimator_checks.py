"""scikit-learn's own checks, over every estimator, start and optimizer in the registries."""

import re

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import INITIALIZERS
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import OPTIMIZERS
from ngdt.problem import Problem


def fits(init, optimizer, loss):
    """Whether an optimizer, or a start by itself, serves this loss at all."""
    problem = Problem(np.ones((1, 1)), np.zeros((1, 1)), loss, 1, np.ones(1))
    try:
        (INITIALIZERS[init] if optimizer is None else OPTIMIZERS[optimizer])().check(problem)
    except ValueError:
        return False
    return True


# Every optimizer from the start that suits it, and every start by itself.
CHAINS = [("auto", name) for name in sorted(OPTIMIZERS)]
# Random splits are a start and no model: nothing says that they predict well.
CHAINS += [(name, None) for name in sorted(INITIALIZERS) if name != "random_complete"]
ESTIMATORS = [
    estimator(max_depth=4, init=init, optimizer=optimizer)
    for estimator, loss in (
        (ObliqueTreeClassifier, LogLoss()), (ObliqueTreeRegressor, SquaredLoss()))
    for init, optimizer in CHAINS
    if fits(init, optimizer, loss)
]

# parametrize_with_checks of scikit-learn 1.6 hands pytest 9 a generator, which it warns of.
CHECKS = [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator)]


def describe(value):
    if not hasattr(value, "func"):
        return re.sub(r"\s+", "", repr(value))
    arguments = ",".join(f"{name}={argument}" for name, argument in value.keywords.items())
    return f"{value.func.__name__}({arguments})"


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=describe)
def test_scikit_learn_check(estimator, check, request):
    name = estimator.optimizer or estimator.init
    if {**INITIALIZERS, **OPTIMIZERS}[name].is_stochastic and is_weight_equivalence(check):
        # Not strict: where a start already fits the few rows of the check, no batch moves it.
        request.node.add_marker(pytest.mark.xfail(strict=False, reason=(
            "a row of weight k is drawn into one mini-batch, k copies of it into several")))
    check(estimator)


def is_weight_equivalence(check):
    return check.func.__name__.startswith("check_sample_weight_equivalence")


def test_no_other_check_is_expected_to_fail():
    assert {check.func.__name__ for _, check in CHECKS if is_weight_equivalence(check)} == {
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data"}
    names = {**INITIALIZERS, **OPTIMIZERS}
    assert {name for name, step in names.items() if step.is_stochastic} == {
        "annealed", "co2", "end_to_end", "sgd", "soft_greedy", "ssgd"}
