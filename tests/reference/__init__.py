"""Definitions as they read, in plain numpy: what the tests compare the package with."""
