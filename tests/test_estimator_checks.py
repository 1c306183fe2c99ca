"""scikit-learn's own checks, over every estimator, start and optimizer in the registries."""

import re

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import INITIALIZERS
from ngdt.optimizers import OPTIMIZERS

ESTIMATORS = [
    estimator(max_depth=4, init=init, optimizer=optimizer)
    for estimator in (ObliqueTreeClassifier, ObliqueTreeRegressor)
    for init in sorted(INITIALIZERS)
    for optimizer in (None, *sorted(OPTIMIZERS))
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
    stochastic = estimator.optimizer is not None and OPTIMIZERS[estimator.optimizer].minibatch
    if stochastic and check.func.__name__.startswith("check_sample_weight_equivalence"):
        # Not strict: where a start already fits the few rows of the check, no batch moves it.
        request.node.add_marker(pytest.mark.xfail(strict=False, reason=(
            "a row of weight k is drawn into one mini-batch, k copies of it into several")))
    check(estimator)
