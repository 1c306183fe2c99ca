"""Losses that a tree can be trained on."""

from ngdt._core.loss import BoundedLoss, LogLoss, Loss
from ngdt._core.regression_losses import (
    AbsoluteLoss,
    HuberLoss,
    PoissonLoss,
    QuantileLoss,
    SquaredLoss,
)

__all__ = [
    "LOSSES", "AbsoluteLoss", "BoundedLoss", "HuberLoss", "LogLoss", "Loss", "PoissonLoss",
    "QuantileLoss", "SquaredLoss", "get_loss"]

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (
        LogLoss, BoundedLoss, SquaredLoss, AbsoluteLoss, QuantileLoss, HuberLoss, PoissonLoss)}

# Methods that compiled code calls, in C alone.
_KERNELS = {"profile", "largest", "smallest", "gradient"}
_OWN = "a loss of your own is a cdef class of Cython"


def get_loss(loss: str | Loss) -> Loss:
    """Loss object from a name or an object.

    Parameters
    ----------
    loss : str or Loss
        A key of `LOSSES`, or an instance.

    Returns
    -------
    Loss

    Examples
    --------
    >>> from ngdt.losses import get_loss
    >>> get_loss("log_loss")
    LogLoss(pseudo_count=1)
    """
    if isinstance(loss, Loss):
        ignored = {name for each in type(loss).__mro__ for name in _KERNELS & vars(each).keys()}
        if ignored:
            raise TypeError(
                f"loss must have its methods in C, got {type(loss).__name__}, whose "
                f"{', '.join(sorted(ignored))} in Python would never be called: {_OWN}")
        return loss
    if isinstance(loss, str):
        if loss in LOSSES:
            return LOSSES[loss]()
        raise ValueError(f"loss must be one of {sorted(LOSSES)} or a Loss object, got {loss!r}")
    is_class = isinstance(loss, type) and issubclass(loss, Loss)
    hint = (f": pass an object, {loss.__name__}()" if is_class else
            f": {_OWN}" if callable(loss) else "")
    raise TypeError(f"loss must be one of {sorted(LOSSES)} or a Loss object, got {loss!r}{hint}")
