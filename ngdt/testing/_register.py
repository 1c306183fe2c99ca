"""Registration of the types of ngdt with Hypothesis, through the ``hypothesis`` entry point.

Hypothesis imports this module whenever it is imported itself, for every project of an environment
that has ngdt installed. So only the two types are imported here; the strategies are imported when
they are used.
"""

from importlib import import_module

from hypothesis import strategies as st

from ngdt._core.loss import Loss
from ngdt._core.tree import Tree


def _strategy(name):
    return lambda _: getattr(import_module("ngdt.testing.strategies"), name)()


st.register_type_strategy(Tree, _strategy("trees"))
st.register_type_strategy(Loss, _strategy("losses"))
