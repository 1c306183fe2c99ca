"""Definitions as they read, in plain numpy, with which the tests compare the package."""
