"""Checks of arguments, names of parameters, threads of Python, rounding of numbers."""
