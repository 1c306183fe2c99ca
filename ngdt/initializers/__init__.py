"""Trees to start from."""

from ngdt.initializers._base import Initializer
from ngdt.initializers._co2 import CO2
from ngdt.initializers._info_gain import InfoGain

INITIALIZERS = {"co2": CO2, "info_gain": InfoGain}

__all__ = ["CO2", "INITIALIZERS", "InfoGain", "Initializer"]
