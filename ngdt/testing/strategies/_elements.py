"""Strategies for numbers and losses, and the defaults that all strategies share."""

import numpy as np
from hypothesis import strategies as st

from ngdt.losses import LOSSES


def _ldexp(numerator, exponent):
    return float(np.ldexp(float(numerator), exponent))


_NUMERATORS = st.integers(-8, 8)
_EXPONENTS = st.just(-1)


def dyadics(*, numerators=_NUMERATORS, exponents=_EXPONENTS):
    """Numbers ``numerator * 2**exponent``, whose sums and products have no rounding error.

    Parameters
    ----------
    numerators : strategy of int
        Small integers.
    exponents : strategy of int
        Powers of two. Sums stay exact while the exponents of one draw are close together.

    Returns
    -------
    strategy of float

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import dyadics
    >>> find(dyadics(), lambda number: number > 1)
    1.5
    """
    return st.builds(_ldexp, numerators, exponents)


# As dyadics(), in half the time: one draw per number instead of three.
DYADICS = _NUMERATORS.map(lambda numerator: numerator / 2)
SIZES = st.integers(1, 3)
N_INTERNAL = st.integers(0, 6)
N_SAMPLES = st.integers(1, 4)
DTYPES = st.sampled_from([np.float64, np.float32])
SPARSE = st.booleans()
DENSE = st.just(False)
CONSTANT = st.just(False)
SCALES = st.sampled_from([1.0, 2.0**-40, 2.0**40])
_LOSS_NAMES = st.sampled_from(list(LOSSES))


def losses(*, names=_LOSS_NAMES):
    """Losses of `ngdt.losses.LOSSES`, with their default parameters.

    Parameters
    ----------
    names : strategy of str

    Returns
    -------
    strategy of Loss

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import losses
    >>> find(losses(), lambda loss: not loss.is_classifier)
    SquaredLoss()
    """
    return names.map(lambda name: LOSSES[name]())


DEFAULT_LOSSES = losses()
