"""Encoding of tables with categories and missing values as numbers, and of targets."""
