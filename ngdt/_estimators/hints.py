"""Hints in error messages for parameters of objects, and for methods that an estimator lacks."""

from types import MethodType

from ngdt._util.parameters import KeepsParameterNames
from ngdt.initializers import INITIALIZERS, InfoGain
from ngdt.optimizers import OPTIMIZERS, Annealed

_NAMED = {"init": (INITIALIZERS, InfoGain), "optimizer": (OPTIMIZERS, Annealed)}
# Objects of other parameters that may be one.
_OBJECTS = {"estimator": "ObliqueForestRegressor", "leaf": "LinearLeaves"}


def _why_not(key, name, value):
    """Explain that a parameter of an object cannot be set, and say what to do."""
    if name == "loss":
        return (f"{key} cannot be set, since a loss stays as it is made: pass a new one, such as "
                "loss=QuantileLoss(quantile=0.9)")
    if name in _NAMED:
        classes, default = _NAMED[name]
        found = classes.get(value, default) if isinstance(value, str) else default
        example = found.__name__
    elif name in _OBJECTS:
        example = _OBJECTS[name]
    else:
        return f"{key}: {name} has no parameters of its own"
    return (f"{key} is a parameter of an object, but {name}={value!r}: pass an object, such as "
            f"{name}={example}()")


class ChecksParameters(KeepsParameterNames):
    """Mixin of estimators whose parameters may be objects with parameters, or their names."""

    def set_params(self, **params):
        """Set parameters of this estimator and of the objects in them.

        Parameters
        ----------
        **params : dict
            Such as ``max_depth=3`` or, if the optimizer is an object, ``optimizer__steps=100``.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            If there is no such parameter, or no object that could have it.
        """
        for key in params:
            name, is_nested, _ = key.partition("__")
            value = params.get(name, getattr(self, name, None))
            if is_nested and name in self._get_param_names() and not hasattr(value, "set_params"):
                raise ValueError(_why_not(key, name, value))
        return super().set_params(**params)


class available_with:
    """Decorator for a method that some parameters exclude. The error says which, and why.

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
