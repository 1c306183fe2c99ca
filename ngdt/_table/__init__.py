"""Encode tables with categories and missing values as the numbers that trees are trained on."""

from ngdt._table.table import Table, check_table, check_targets

__all__ = ["Table", "check_table", "check_targets"]
