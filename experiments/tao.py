"""TAO at free depth: Carreira-Perpiñán and Tavallali (2018), table 1 and figure 1.

As in the paper, C and the initial tree are chosen on validation samples; the penalty is L1. Letter
is trained on the 10 500 samples of its training file. `benchmarks/tao_path.py` measures the path on
MNIST that is drawn here.
"""

from pathlib import Path

import pandas as pd

from experiments.data import TITLES, split
from experiments.figures import error_on_path
from experiments.fitting import FIELDS, result
from experiments.methods import TAO_L1, TAO_L2, tree
from experiments.record import mean_and_error
from experiments.runner import Experiment
from ngdt.optimizers import TAO

DEPTHS, SEEDS = (8, 12, 16), 3
# Test error in per cent, as published, and the rows that they were fitted on.
PUBLISHED = {"mnist": (5.69, "all"), "letter": (7.94, "strict"), "pendigits": (3.14, "all"),
             "protein": (31.70, "all")}
PATH = Path(__file__).parents[1] / "benchmarks" / "results" / "tao_path.csv"


def jobs(quick):
    data = ("digits",) if quick else ("letter", "pendigits", "mnist")
    return [{"data": name, "penalty": penalty, "seed": seed}
            for seed in range(1 if quick else SEEDS) for name in data for penalty in ("l1", "l2")
            if (name, seed > 0) != ("mnist", True)]


def run(data, penalty, seed):
    depths, costs = DEPTHS, TAO_L1 if penalty == "l1" else TAO_L2
    if data == "digits":
        depths, costs = (4,), costs[:1]
    candidates = {
        f"C={C} depth={depth}": tree(depth, seed, "info_gain", TAO(C, penalty=penalty, alpha=0))
        for depth in depths for C in costs}
    rows = PUBLISHED[data][1] if data in PUBLISHED else "all"
    return [result(candidates, split(data, seed, rows), seed)]


def report(rows, folder):
    lines = []
    for (name, penalty), group in rows.groupby(["data", "penalty"], sort=False):
        lines.append({
            "Data": TITLES[name], "rows": int(group["n_train"].iloc[0]), "penalty": penalty.upper(),
            "test error, %": mean_and_error(100 - group["test"]),
            "published, %": PUBLISHED.get(name, ("",))[0],
            "leaves": f"{group['leaves'].mean():.0f}",
            "nonzeros": f"{group['nonzeros'].mean():.0f}",
            "s": f"{group['seconds'].mean():.1f}"})
    pd.DataFrame(lines).to_csv(folder / "tao_table.csv", index=False, lineterminator="\n")
    error_on_path(pd.read_csv(PATH), folder)


EXPERIMENT = Experiment(
    "tao", "TAO at free depth (Carreira-Perpiñán and Tavallali 2018, table 1 and figure 1)",
    ("data", "penalty", "seed"), FIELDS, jobs, run, report)
