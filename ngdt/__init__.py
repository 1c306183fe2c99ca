"""Small decision trees for tables, whose splits weigh several columns, trained as a whole.

>>> from sklearn.datasets import load_iris
>>> import ngdt
>>> X, y = load_iris(return_X_y=True)
>>> tree = ngdt.ObliqueTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
>>> tree.kind_, tree.get_n_leaves()
('tree trained as a whole by TAO', 3)

`tree.summary()` says why it was chosen, `export_text(tree)` writes its rules, `plot_tree(tree)`
draws it, and `tree.explain(X)[0]` says why the first sample is predicted as it is. X may be a data
frame with text and gaps.

- Numbers instead of classes: `ObliqueTreeRegressor`.
- More accuracy: `ObliqueForestClassifier`, `ObliqueForestRegressor`, `ObliqueBoostingRegressor`.
- Files of models: `save`, `load`. SQL, C, ONNX, HTML: `ngdt.export`. Pictures: `ngdt.plotting`.
- Smaller trees: `ngdt.pruning`. Methods by name: `ngdt.initializers`, `ngdt.optimizers`.

The documentation is at https://ngdt.readthedocs.io.
"""

from importlib import import_module as _import_module

# First, as it says what to do where ngdt is not built.
from ngdt import _core as _core
from ngdt import (
    deep,
    explanation,
    export,
    inference,
    initializers,
    losses,
    optimizers,
    path,
    persistence,
    plotting,
    pruning,
)
from ngdt._core.tree import Tree
from ngdt._estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._forest import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
)
from ngdt._training.problem import Problem
from ngdt._util.validation import did_you_mean as _did_you_mean
from ngdt._util.version import __version__ as __version__
from ngdt.export import export_text
from ngdt.path import TAOPathCV, tao_path
from ngdt.persistence import load, save
from ngdt.plotting import plot_tree

__all__ = [
    "ObliqueBoostingRegressor",
    "ObliqueForestClassifier",
    "ObliqueForestRegressor",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "Problem",
    "TAOPathCV",
    "Tree",
    "deep",
    "explanation",
    "export",
    "export_text",
    "inference",
    "initializers",
    "load",
    "losses",
    "optimizers",
    "path",
    "persistence",
    "plot_tree",
    "plotting",
    "pruning",
    "save",
    "tao_path",
]


def __getattr__(name):
    """Import ``ngdt.dask`` when it is first used, and say where other names are."""
    if name == "dask":
        return _import_module("ngdt.dask")
    # Without an object, Python adds no suggestion of its own.
    raise AttributeError(f"ngdt has no attribute {name!r}{_hint(name)}", name=name)


def _hint(name):
    """Text that says where a missing name is."""
    for module in (export, plotting, optimizers, initializers, losses, pruning, inference, path,
                   deep, explanation, persistence):
        if name in module.__all__:
            return f": it is {module.__name__}.{name}"
    if not name.startswith("_") and callable(getattr(ObliqueTreeClassifier, name, None)):
        return ": it is a method of fitted estimators"
    return f".{_did_you_mean(name, __all__)}"
