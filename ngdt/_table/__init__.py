"""Encode tables with categories and missing values as the numbers that trees are trained on."""

from ngdt._table.check import check_samples, check_table
from ngdt._table.table import Table
from ngdt._table.targets import check_targets

__all__ = ["Table", "check_samples", "check_table", "check_targets"]
