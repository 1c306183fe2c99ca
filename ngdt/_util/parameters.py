"""Parameters of estimators and algorithms: their names, and constraints that many have."""

import re
from functools import cache
from numbers import Integral, Real

from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
)

# A parameter may be what one of the constraints in its list allows.
COUNT = Interval(Integral, 1, None, closed="left")
COUNT_OR_ZERO = Interval(Integral, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(RealNotInt, 0, 1, closed="right")
BELOW_ONE = Interval(Real, 0, 1, closed="left")
ZERO_TO_ONE = Interval(Real, 0, 1, closed="both")
AUTO = StrOptions({"auto"})
# Of `max_features`, as `number_of_features` reads it.
DRAWN_FEATURES = [COUNT, SHARE, StrOptions({"sqrt", "log2"}), None]


class HasParameters:
    """Mixin of classes with parameters, which may be objects with parameters of their own."""

    # Each copy and each check asks for the names, and to take the signature apart needs most of the
    # time of these.
    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()

    def _validate_params(self):
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            # scikit-learn names the modules that define classes, which are not to be imported.
            raise InvalidParameterError(
                re.sub(r"instance of 'ngdt[\w.]*\.", "instance of '", str(error))) from None

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
                raise ValueError(
                    f"{key}: {name}={value!r} has no parameters that can be set. Set {name} "
                    "itself to an object, as in optimizer=Annealed(steps=100)")
        return super().set_params(**params)
