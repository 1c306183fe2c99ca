"""Save fitted models to files, and load them; no file runs code."""

from ngdt._util.container import InvalidModelFile
from ngdt.persistence._models import load, save

__all__ = ["InvalidModelFile", "load", "save"]
