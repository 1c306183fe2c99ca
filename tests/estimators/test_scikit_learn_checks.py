"""scikit-learn's own checks, over every estimator, initializer and optimizer in the registries.

Most of them are about what all algorithms share: the checks of arguments, tags, names of features.
They run for one classifier, those about training for all. `HYPOTHESIS_PROFILE=nightly` runs all for
all.
"""

import re
from functools import cache

import pytest
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from helpers import in_nightly, serves, short
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import INITIALIZERS, InfoGain, RandomComplete
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import OPTIMIZERS

# Every optimizer from a greedy tree, which takes the least time, and every initializer by itself,
# but for random splits: nothing says that they predict well. At last what users get who choose
# nothing.
OPTIMIZED = [{"init": "info_gain", "optimizer": short(optimizer)}
             for _, optimizer in sorted(OPTIMIZERS.items())]
INITIALIZED = [
    {"init": short(initializer), "optimizer": None}
    for _, initializer in sorted(INITIALIZERS.items()) if initializer is not RandomComplete]
ESTIMATORS = [
    estimator(max_depth=2, **parameters)
    for estimator, loss in (
        (ObliqueTreeClassifier, LogLoss()), (ObliqueTreeRegressor, SquaredLoss()))
    for parameters in [*OPTIMIZED, *INITIALIZED]
    if serves(parameters["optimizer"] or parameters["init"], loss)
] + [ObliqueTreeClassifier(max_depth=2), ObliqueTreeRegressor(max_depth=3)]

# Checks of what an algorithm may do wrong where others do not, but for what is tested of every
# algorithm: weights, and data with little to learn from. That all give the same tree twice, of
# samples that cannot be written to, is among the tests of ccp_alpha.
OF_TRAINING = {
    "check_classifiers_one_label_sample_weights", "check_classifiers_train",
    "check_regressors_train", "check_regressor_multioutput"}


@cache      # of an estimator with 40 checks
def describe(value):
    if not hasattr(value, "func"):
        return re.sub(r"\s+", "", repr(value))
    arguments = ",".join(f"{name}={argument}" for name, argument in value.keywords.items())
    return f"{value.func.__name__}({arguments})"


def trained_by(estimator):
    return estimator.optimizer or estimator.init


def is_stochastic(estimator):
    """Return whether mini-batches are drawn; "auto" names optimizers that draw them."""
    algorithm = trained_by(estimator)
    return algorithm == "auto" or algorithm.is_stochastic


def checks_of(estimator):
    """Checks of an estimator, without those that mini-batches neither pass nor fail for certain.

    A sample of weight k is drawn into one mini-batch, k copies of it into several; but where the
    initial tree already fits the few samples, no batch moves it.
    """
    is_whole = ((type(trained_by(estimator)) is InfoGain and is_classifier(estimator))
                or in_nightly([True]))
    # Two of the same name differ in the type of the samples.
    found = {}
    for _, check in estimator_checks_generator(estimator):
        found.setdefault(check.func.__name__, []).append(check)
    for name, checks in found.items():
        if is_stochastic(estimator) and name.startswith("check_sample_weight_equivalence"):
            continue
        if is_whole:
            yield from checks
        elif name in OF_TRAINING:
            yield checks[0]


# parametrize_with_checks of scikit-learn 1.6 hands pytest 9 a generator, which it warns of.
CHECKS = [(estimator, check) for estimator in ESTIMATORS for check in checks_of(estimator)]


# Some check random labels, or equal ones.
@pytest.mark.filterwarnings("ignore:No tree was better", "ignore:y is the same in all samples")
@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=describe)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_no_check_is_named_that_scikit_learn_does_not_have():
    assert {check.func.__name__ for _, check in CHECKS} >= OF_TRAINING
