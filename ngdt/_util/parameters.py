"""Parameters of estimators and algorithms: their names, and constraints that many have."""

from functools import cache
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

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


class KeepsParameterNames:
    """Mixin of classes with parameters that are taken from the signature once.

    Each copy and each check asks for them, and to take the signature apart needs most of its time.
    """

    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()
