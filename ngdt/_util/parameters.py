"""Messages for parameters that an estimator or an algorithm does not have."""

import inspect
from typing import ClassVar

from ngdt._util.validation import did_you_mean


class ChecksNames:
    """Mixin of estimators and algorithms: unknown parameters raise an error with the way out.

    Attributes
    ----------
    _objects : dict
        Parameters that take an object, each with a dict of the classes of these.
    _elsewhere : dict
        What to say of names that neither the estimator nor an object has.
    """

    _objects: ClassVar[dict] = {}
    _elsewhere: ClassVar[dict] = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        # The signature of a class without parameters, and up to Python 3.11.3 that of any, is else
        # that of an inherited __new__.
        is_bare = cls.__init__ is object.__init__
        of_self = inspect.Signature() if is_bare else inspect.signature(cls.__init__)
        cls.__signature__ = of_self.replace(parameters=list(of_self.parameters.values())[1:])

    def __new__(cls, *args, **params):
        # Before __init__, whose own message would only repeat the name. That of a subclass
        # elsewhere may take others.
        is_bare = cls.__init__ is object.__init__
        if is_bare and args:
            raise TypeError(f"{cls.__name__} has no parameters, got {args[0]!r}")
        is_own = is_bare or cls.__init__.__module__.startswith("ngdt.")
        for name in params:
            if is_own and name not in cls._get_param_names():
                raise TypeError(
                    f"{cls.__name__} has no parameter {name!r}{_way_out(cls, name)}")
        return super().__new__(cls)

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
        known = self._get_param_names()
        for key in params:
            name, is_nested, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}{_way_out(type(self), name)}")
            value = params.get(name, getattr(self, name))
            if is_nested and not hasattr(value, "set_params"):
                raise ValueError(
                    f"{key} is a parameter of an object, but {name}={value!r}"
                    f"{_object(type(self), name, inner)}")
        return super().set_params(**params)


def _way_out(cls, name):
    if name in cls._elsewhere:
        return f": {cls._elsewhere[name]}"
    owners = _owners(cls, name)
    if not owners:
        hint = did_you_mean(name, cls._get_param_names())
        return f".{hint}" if hint else ""
    parameter, owner = owners[0]
    several = f", as do {', '.join(each for _, each in owners[1:])}" if owners[1:] else ""
    return f": {owner} has it{several}: pass {parameter}={owner}({name}=...)"


def _object(cls, name, inner):
    """Which object to pass, for a nested parameter."""
    owners = [owner for parameter, owner in _owners(cls, inner) if parameter == name]
    return f": pass an object, such as {name}={owners[0]}()" if owners else ": pass an object"


def _owners(cls, name):
    """Objects that have a parameter: pairs of the parameter of an estimator, and a class."""
    return [(parameter, algorithm.__name__)
            for parameter, registry in cls._objects.items()
            for algorithm in registry.values() if name in algorithm._get_param_names()]
