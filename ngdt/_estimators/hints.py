"""Where to find parameters that an estimator does not have, and methods that it lacks."""

from types import MethodType
from typing import ClassVar

from ngdt._util.parameters import ChecksNames
from ngdt.initializers import INITIALIZERS
from ngdt.optimizers import OPTIMIZERS

_FOREST = "ObliqueForestClassifier and ObliqueForestRegressor have it"
# What those who know other estimators look for.
_ELSEWHERE = {
    "n_estimators": _FOREST, "bootstrap": _FOREST, "max_samples": _FOREST, "oob_score": _FOREST,
    "max_features": f"{_FOREST}, and so does init=RandomOblique()",
    "criterion": "splits follow the loss: see loss and optimizer",
    "splitter": "init says how the first splits are found",
    "n_iter": "it is called steps or epochs here, and optimizers have it, such as Annealed(steps=)",
    "max_iter": "it is called steps or epochs here, and optimizers have it, such as "
                "Annealed(steps=)",
    "early_stopping": "validation_fraction says whether samples are kept out of training",
    "min_weight_fraction_leaf": "min_samples_leaf counts samples, or takes a share of them",
    "monotonic_cst": "monotonic constraints are not supported",
    "quantile": "losses have it: pass loss=QuantileLoss(quantile)",
    "missing": "missing values need no parameter: NaN and None are understood",
}


class ChecksParameters(ChecksNames):
    """Mixin of estimators: as its base, and for what other estimators have and objects here."""

    _objects: ClassVar[dict] = {"optimizer": OPTIMIZERS, "init": INITIALIZERS}
    _elsewhere: ClassVar[dict] = _ELSEWHERE


class available_with:
    """Decorator: a method that some parameters exclude. The error says which, and why.

    As `sklearn.utils.metaestimators.available_if`, whose error has the reason in its cause only.

    Parameters
    ----------
    check : callable
        ``check(estimator)`` raises an AttributeError.
    """

    def __init__(self, check):
        self.check = check

    def __call__(self, method):
        self.method, self.__doc__ = method, method.__doc__
        return self

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self.method
        self.check(estimator)
        return MethodType(self.method, estimator)
