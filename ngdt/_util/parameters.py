"""Names of the parameters of estimators and algorithms."""

from functools import cache


class KeepsParameterNames:
    """Mixin of classes with parameters that are taken from the signature once.

    Each copy and each check asks for them, and to take the signature apart needs most of its time.
    """

    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()
