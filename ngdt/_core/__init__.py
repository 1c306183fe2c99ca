"""The non-greedy tree of Norouzi et al. (2015), and the search for greedy splits.

A guided tour, for a reader with the paper at hand. In this order:

    equations                         here
    ---------                         ----
    f, the tree                       flat_tree.pxd: FlatTree.leaf_below; tree.py: Tree.apply
    (1), (2)  log loss                loss.pxd: to_probabilities; loss.pyx: LogLoss.profile
    (3)       squared loss            regression_losses.pyx: SquaredLoss
    (4)       empirical loss          loss.pyx: Loss.value, of the leaves that f finds
    (5), (6)  decisions by argmax     search.pxd: Search.descend, as the argmax is sgn(Wx)
    (7)       the bound               search.pyx: Search.find with any radius
    (8), (9)  scale, bounded norm     sgd/epoch.pyx: TrainedTree.scale, TrainedTree._project
    (10)-(12) augmented inference     search.pyx: Search.find, Search.price
    (13)      Hamming ball            search.pyx: Search.find with the radius 1, see RADIUS
    (14)      stable bound            sgd/epoch.pyx: SGDTrainer._fill_slot

    Algorithm 1                       sgd/epoch.pyx
    -----------                       -------------
    line 1, the greedy tree           greedy/builder.py
    line 3, the samples               SGDTrainer.visit, of a mini-batch
    lines 4, 5: h and g               SGDTrainer._fill_slot; search.pyx: Search.begin, Search.find
    line 6, gradient and step of W    SGDTrainer._find_updates, TrainedTree.move_node
    line 8, the projection            TrainedTree._project
    line 10, the step of Theta        TrainedTree.move_leaves

The paper appends a constant feature of -1 to x; here its weight is the threshold of a node. Greedy
trees, which the paper starts from, are grown by greedy/builder.py: it asks greedy/splitter.pyx for
splits, which reads features by columns.pyx, lists them in ascending order by moves.pyx and finds
their gains by criterion.pyx.

Below these: samples.pyx reads matrices, src/dot.c multiplies, scaling.py standardises, winsorize.py
bounds far values, threads.pyx divides mini-batches between threads. Beside them, for whoever has a
tree: tree_arrays.py checks its arrays, structure.py follows its paths and joins trees, quantiles.py
keeps the targets of leaves, climbs.py finds what rising features can change.

Nothing here imports from ngdt but `_util`, which tests/project/test_imports.py checks. In
docs/theory, bound.rst has the equations under the same numbers, and bound_training.rst Algorithm 1
and what departs from the paper.
"""

from importlib.util import find_spec as _find_spec
from pathlib import Path as _Path

# Python started in the source folder finds this package before an installed one.
if _find_spec("ngdt._core.loss") is None:
    raise ImportError(
        f"ngdt is not built in {_Path(__file__).parents[2]}: start Python in another folder, or "
        "build it there by python -m pip install -e .")
