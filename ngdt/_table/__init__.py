"""Encode tables with categories and missing values as the numbers that trees are trained on."""

from ngdt._table.check import check_samples, check_table, check_targets
from ngdt._table.table import Table

__all__ = ["Table", "check_samples", "check_table", "check_targets"]
