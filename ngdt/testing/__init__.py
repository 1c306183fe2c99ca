"""Tools for testing code that uses ngdt.

:mod:`ngdt.testing.strategies` has Hypothesis strategies. It is not imported here, because
Hypothesis is an optional dependency (the extra ``test``).
"""
