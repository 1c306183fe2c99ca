"""Help for the tests of code that uses ngdt.

:mod:`ngdt.testing.strategies` has the Hypothesis strategies. It is not imported here, because
Hypothesis is an optional dependency (the extra ``test``).
"""
