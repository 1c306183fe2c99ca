"""Draw processor time and memory of `partitions.py` against the number of rows.

    python benchmarks/partitions_plot.py         from results/partitions.csv, to a picture beside it
"""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "results"


def main():
    with (RESULTS / "partitions.csv").open(newline="") as file:
        table = [row for row in csv.DictReader(file)
                 if row["features"] == "20" and row["from"] == "made"]
    rows, cpu, memory = ([float(row[name]) for row in table] for name in ("rows", "cpu", "pss_mib"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.loglog(rows, cpu, "o-", label="fit")
    left.loglog(rows, [cpu[-1] * each / rows[-1] for each in rows], ":", color="0.5",
                label="in proportion to the rows")
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
