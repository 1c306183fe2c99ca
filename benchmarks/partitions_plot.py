"""Draw processor time and memory of `partitions.py` against the number of rows.

    python benchmarks/partitions_plot.py         from results/partitions.csv, to a picture beside it
"""

import csv
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import linprog

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "results"


def line(x, y):
    """Intercept and slope of the line with the least largest relative distance from the points.

    A linear program: the distance t is minimised with |a + b x - y| <= t y.
    """
    ones = np.ones_like(x)
    above, below = np.column_stack([ones, x, -y]), np.column_stack([-ones, -x, -y])
    found = linprog([0, 0, 1], np.vstack([above, below]) / np.tile(y, 2)[:, None],
                    np.concatenate([ones, -ones]))
    print(f"{found.x[0]:.3g} s + {found.x[1]:.3g} s per row: within {found.x[2]:.1%}")
    return found.x[:2]


def main():
    with (RESULTS / "partitions.csv").open(newline="") as file:
        table = [row for row in csv.DictReader(file)
                 if row["features"] == "20" and row["from"] == "made"]
    rows, cpu, memory = ([float(row[name]) for row in table] for name in ("rows", "cpu", "pss_mib"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.loglog(rows, cpu, "o-", label="fit")
    fixed, each = line(np.array(rows), np.array(cpu))
    left.loglog(rows, fixed + each * np.array(rows), ":", color="0.5",
                label=f"{fixed:.1f} s, and {1e6 * each:.0f} s per million rows")
    left.set(xlabel="rows", ylabel="processor time, s")
    left.legend(frameon=False)
    right.loglog(rows, memory, "o-", label="peak of all processes")
    right.loglog(rows, [each * 80 / 2**20 for each in rows], ":", color="0.5",
                   label="the rows themselves")
    right.set(xlabel="rows", ylabel="MiB")
    right.legend(frameon=False)
    figure.savefig(RESULTS / "partitions.png", dpi=110)


if __name__ == "__main__":
    main()
