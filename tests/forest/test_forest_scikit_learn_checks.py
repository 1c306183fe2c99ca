"""scikit-learn's own checks of the forests."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from ngdt import ObliqueForestClassifier, ObliqueForestRegressor
from ngdt.optimizers import TAO, Annealed

# Nothing is drawn in those of the second line: a weight of k is the same as k samples there.
DRAWN = [ObliqueForestClassifier(3, max_depth=3, optimizer=Annealed(steps=200)),
         ObliqueForestRegressor(3, max_depth=3, max_features=0.9, optimizer=TAO(max_passes=3))]
FIXED = [estimator(2, max_depth=3, bootstrap=False, optimizer=None)
         for estimator in (ObliqueForestClassifier, ObliqueForestRegressor)]
CHECKS = [pair for estimator in DRAWN + FIXED for pair in estimator_checks_generator(estimator)]


def describe(value):
    return type(value).__name__ if hasattr(value, "fit") else value.func.__name__


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=describe)
def test_scikit_learn_check(estimator, check, request):
    is_drawn = any(type(estimator) is type(each) for each in DRAWN) and estimator.bootstrap
    if is_drawn and check.func.__name__.startswith("check_sample_weight_equivalence"):
        request.node.add_marker(pytest.mark.xfail(reason=(
            "a sample of weight k is drawn as one, k copies of it one by one")))
    check(estimator)
