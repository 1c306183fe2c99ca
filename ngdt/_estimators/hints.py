"""Estimators whose parameters may be objects with parameters of their own."""

from ngdt._util.parameters import KeepsParameterNames


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
                raise ValueError(
                    f"{key}: {name}={value!r} has no parameters that can be set. Set {name} "
                    "itself to an object, as in optimizer=Annealed(steps=100)")
        return super().set_params(**params)
