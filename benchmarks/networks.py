"""Trees of ten leaves whose splits are networks (Hehn 2020, section 3.4).

The paper grows a tree best-first, one trained network after the other. "Finetuned" then trains all
of them together by its EM. The annealed trees are ours: with the paper's network in each node, and
with one network whose outputs are the features of linear splits. Their settings were chosen on
10 000 of the training samples of MNIST.
"""

from benchmarks.data import split
from benchmarks.fitting import Fit
from benchmarks.runner import Benchmark, write_table
from ngdt.deep import CNN, DeepTreeClassifier
from ngdt.optimizers import Annealed, EndToEnd
from ngdt.path import prediction_cost

SHAPES = {"mnist": (1, 28, 28), "digits": (1, 8, 8)}
# The fewest epochs that the paper tries, in each node and of the whole tree, and its batches.
PAPER, QUICK_PAPER = EndToEnd(epochs=20, batch_size=1000), EndToEnd(epochs=3)
# The paper's network, and the one of the trunk; small ones for images of 8 x 8 pixels.
NODE = {"mnist": CNN(), "digits": CNN((3,), hidden=8)}
TRUNK = {"mnist": CNN((8, 16), hidden=64, n_outputs=32), "digits": CNN((3,), n_outputs=8)}


def annealed(steps, learning_rate, weight_decay):
    return Annealed(steps=steps, learning_rate=learning_rate, weight_decay=weight_decay, q=0)


def methods(data):
    """Parameters of the trees, by their names."""
    quick = data == "digits"
    paper, node = QUICK_PAPER if quick else PAPER, NODE[data]
    return {
        "greedy": {
            "split": node, "init": "greedy", "stump": paper, "optimizer": None},
        "finetuned": {
            "split": node, "init": "greedy", "stump": paper, "optimizer": paper},
        "annealed": {
            "split": node, "init": "balanced",
            "optimizer": annealed(100 if quick else 6000, 0.01, 0.4)},
        "trunk": {
            "trunk": TRUNK[data], "optimizer": annealed(100 if quick else 1500, 0.002, 0.0)},
    }


def network_multiplications(network, shape):
    """Multiplications of a network for a sample."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        network(shape)(torch.zeros(1, *shape))
    return counter.get_total_flops() // 2


def jobs(quick):
    data, n_seeds = ("digits", 1) if quick else ("mnist", 3)
    return [{"data": data, "method": method, "seed": seed}
            for seed in range(n_seeds) for method in methods(data)]


def run(data, method, seed):
    """One tree. A sample costs the networks on its path, or the trunk and the linear splits."""
    X, y, X_test, y_test = split(data, seed)
    fit = Fit.of(DeepTreeClassifier(
        **methods(data)[method], input_shape=SHAPES[data], max_leaf_nodes=10, random_state=seed),
        X, y)
    features, tree = fit.model.as_tree()
    evaluations, products = (each.mean for each in prediction_cost(tree, features(X_test)))
    each = network_multiplications(fit.model.trunk or fit.model.split, SHAPES[data])
    return [{
        "train": 100 * fit.model.score(X, y), "test": 100 * fit.model.score(X_test, y_test),
        "leaves": tree.n_leaves, "evaluations": evaluations, "seconds": fit.seconds,
        "multiplications": each * evaluations if fit.model.trunk is None else each + products}]


# Splits, and how they are trained.
LINES = {
    "greedy": ("the paper's network in each", "greedily, best-first"),
    "finetuned": ("the paper's network in each", "greedily, then together by EM"),
    "annealed": ("the paper's network in each", "together, annealed"),
    "trunk": ("linear, in the outputs of one network", "together, annealed"),
}
PUBLISHED = {"finetuned": "98.2 ± 0.3"}


def table(rows, folder):
    """Means over the seeds, and the standard deviation of the accuracy, as the paper has it."""
    lines = []
    for method, group in rows.groupby("method", sort=False):
        spread = f" ± {group['test'].std():.1f}" if len(group) > 1 else ""
        lines.append({
            **dict(zip(("Splits", "Trained"), LINES[method], strict=True)),
            "Test": f"{group['test'].mean():.1f}{spread}", "Published": PUBLISHED.get(method, ""),
            "Leaves": f"{group['leaves'].mean():.0f}",
            "Multiplications": f"{group['multiplications'].mean():.0f}",
            "Seconds": f"{group['seconds'].mean():.0f}", "Seeds": len(group)})
    write_table(lines, folder, "networks_table")


BENCHMARK = Benchmark(
    "networks", "trees whose splits are networks (Hehn 2020, section 3.4)",
    ("data", "method", "seed"),
    ("train", "test", "leaves", "evaluations", "multiplications", "seconds"),
    jobs, run, table, needs="torch")
