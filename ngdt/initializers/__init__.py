"""Trees to start from."""

from ngdt.initializers._base import Initializer
from ngdt.initializers._info_gain import InfoGain

INITIALIZERS = {"info_gain": InfoGain}

__all__ = ["INITIALIZERS", "InfoGain", "Initializer"]
