"""What the nodes of one level are fitted to."""

from functools import partial

import numpy as np

from ngdt._methods.tao.node_solvers import NodeProblem

_TINY = np.finfo(np.float64).tiny     # C divided by it is finite


def node_problems(run, nodes):
    """The `NodeProblem` of each node of a level, unless it is pure or all its costs are zero.

    Parameters
    ----------
    run : TAORun
    nodes : ndarray of int

    Returns
    -------
    list of tuple
        The problem, the slice of all samples of the node, whether these have gone right, and the
        leaves that they reach if they go to the other side.
    """
    nodes = nodes[run.is_mixed[nodes]]
    if len(nodes) == 0:
        return []
    by_leaf, tree, weight = run.samples_by_leaf, run.tree, run.problem.sample_weight
    start, stop = by_leaf.bounds(nodes)
    counts, positions = stop - start, np.concatenate([*map(np.arange, start, stop)])
    samples = by_leaf.samples[positions]
    # On the side that a sample took before, its leaf is known from the level below. On the other
    # side, it is computed.
    own, is_right = run.reached[positions], positions >= np.repeat(
        by_leaf.bounds(tree.children_left[nodes])[1], counts)
    left, right = (np.repeat(children[nodes], counts)
                   for children in (tree.children_left, tree.children_right))
    other = _route(run, samples, np.where(is_right, left, right))
    loss, other_loss = (run.losses(run.problem.predictions(tree, samples, leaf), samples)
                        for leaf in (own, other))
    gain = weight[samples] * np.where(is_right, other_loss - loss, loss - other_loss)   # on right
    used = np.flatnonzero(gain)
    samples, target, cost = samples[used], np.sign(gain[used]), np.abs(gain[used])
    ends = np.cumsum(counts)
    n_used, problems = np.searchsorted(used, [0, *ends]), []
    for k, node in enumerate(nodes):
        here, every = slice(*n_used[k:k + 2]), slice(ends[k] - counts[k], ends[k])
        if here.stop > here.start:
            share = run.node_weights[node] / run.total_weight
            C = min(run.params.C / max(share**run.params.alpha, _TINY), 1.0 / _TINY)
            problems.append((
                NodeProblem(node, samples[here], target[here], cost[here], C),
                slice(start[k], stop[k]), is_right[every], other[every]))
    return problems


def _route(run, samples, start):
    """Leaf that each sample reaches from the node, or ~leaf, where it starts."""
    return np.concatenate(run.threads.map(partial(run.tree.apply_samples, run.data), *(
        np.array_split(each, run.threads.n_threads) for each in (samples, start))))
