"""Checks of arguments, threads of Python, rounding of numbers, the container of files."""
