"""Trees on dask partitions: time, memory and accuracy against the number of rows.

    python benchmarks/partitions.py                      10^5 to 10^7 rows, made when they are read
    python benchmarks/partitions.py --rows 1e8           more of them
    python benchmarks/partitions.py --folder /tmp/rows   the same, from files that are mapped
        --format parquet                                 or from other files: parquet, zarr
    python benchmarks/partitions.py --output FILE.csv    rows are added to a table, too
    python benchmarks/partitions.py --data mnist         accuracy next to the fit in memory

Rows are float32, of four classes: normal features, and a random oblique tree of 16 leaves says the
class, for one row in twenty a wrong one. They never are in memory together. Prints a row per case:
seconds of the fit, processor time of all processes, and that of making rows; how often each
partition was read, for X and for y together; the peak of the memory of all processes together, in
which shared pages count once (pss) and once for each process (rss); accuracy on new rows, steps of
a replica, and megabytes that replicas send and receive.

In its own line: the memory of the processes before the fit, of which imports take most.
"""

import argparse
import csv
import os
import threading
import time
from pathlib import Path

import dask.array as da
import numpy as np
import psutil
from dask import delayed
from distributed import Client, LocalCluster, get_worker

import ngdt
import ngdt.dask
from ngdt.dask import ObliqueTreeClassifier
from ngdt.optimizers import OPTIMIZERS

N_LEAVES, N_CLASSES, N_TEST = 16, 4, 50_000


def rows(seed, n, n_features):
    """Samples and their classes; the classes of all seeds follow the same tree."""
    planes = np.random.default_rng(0).normal(size=(n_features, N_LEAVES - 1)).astype(np.float32)
    random = np.random.default_rng((1, seed))
    X = random.standard_normal((n, n_features), dtype=np.float32)
    right, node = X @ planes > 0, np.zeros(n, dtype=np.intp)
    for _ in range(N_LEAVES.bit_length() - 1):
        node = 2 * node + 1 + right[np.arange(n), node]
    wrong = random.random(n) < 0.05
    return X, np.where(wrong, random.integers(N_CLASSES, size=n), node % N_CLASSES)


def in_files(X, y, folder, form):
    """The collections, written to files and read from them."""
    folder = folder / f"{form}{len(X)}"
    if form == "zarr":
        for name, each in (("X", X), ("y", y)):
            da.to_zarr(each, str(folder / name), overwrite=True)
        return da.from_zarr(str(folder / "X")), da.from_zarr(str(folder / "y"))
    import dask.dataframe as dd
    names = [f"x{number}" for number in range(X.shape[1])]
    table = dd.from_dask_array(X, columns=names)
    table.assign(label=dd.from_dask_array(y)).to_parquet(folder, overwrite=True)
    table = dd.read_parquet(folder)
    return table[names], table["label"]


def collections(n_rows, n_features, chunk, folder):
    """dask arrays of so many rows: made when they are read, or mapped from files."""
    n_chunks = -(-n_rows // chunk)
    sizes = np.diff(np.linspace(0, n_rows, n_chunks + 1).astype(int)).tolist()
    parts = [(number, size, n_features) for number, size in enumerate(sizes)]
    read = read_file if folder else rows
    for part in parts if folder else ():
        for name, values in zip("Xy", rows(*part), strict=True):
            np.save(folder / f"{name}{part[0]}.npy", values)
    pairs = [delayed(counted)(read, part if folder is None else (folder, part[0]))
             for part in parts]
    X, y = ([da.from_delayed(pair[which], (part[1], *shape), dtype)
             for pair, part in zip(pairs, parts, strict=True)] for which, shape, dtype in (
                 (0, (n_features,), np.float32), (1, (), np.int64)))
    return da.concatenate(X), da.concatenate(y)


def read_file(folder, number):
    return [np.load(folder / f"{name}{number}.npy", mmap_mode="r") for name in "Xy"]


def counted(read, arguments):
    """What is read, and the worker counts the readings and their processor time."""
    worker, begin = get_worker(), time.thread_time()
    found = read(*arguments)
    number, seconds = getattr(worker, "readings", (0, 0.0))
    worker.readings = number + 1, seconds + time.thread_time() - begin
    return found


def readings(client):
    """Number of readings so far, and their processor time."""
    return np.sum(list(client.run(
        lambda dask_worker: getattr(dask_worker, "readings", (0, 0.0))).values()), axis=0)


class Watch(threading.Thread):
    """Greatest memory, and processor time, of this process and all below it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.ended, self.begin = np.zeros(2), threading.Event(), self.processor_time()

    def processes(self):
        own = psutil.Process(os.getpid())
        return [own, *own.children(recursive=True)]

    def processor_time(self):
        return sum(sum(each.cpu_times()[:2]) for each in self.processes())

    def memory(self):
        """Megabytes (2^20) in which shared pages count once, and once for each process."""
        found = [each.memory_full_info() for each in self.processes()]
        return np.array([sum(getattr(each, kind) for each in found) for kind in (
            "pss", "rss")]) / 2**20

    def run(self):
        while not self.ended.wait(0.5):
            self.peak = np.maximum(self.peak, self.memory())

    def end(self):
        self.ended.set()
        return self.processor_time() - self.begin


def moved(model, n_replicas):
    """Steps of a replica, and megabytes that all of them send and receive in rounds of 8 steps."""
    depth = 8
    nodes, outputs = 2**depth - 1, len(model.classes_)
    size = 4 * (3 * nodes * (model.n_features_in_ + 1) + 2 * (nodes + 1) * outputs)
    n_training = 0.9 * model.n_node_samples[0] if model.tree_.n_internal else 0
    batch = max(250 // n_replicas, 64, int(n_training) // (n_replicas * 10_000))
    steps = model.n_iter_ * int(n_training) // (n_replicas * batch)
    return steps, 2 * n_replicas * size * -(-steps // 8) / 1e6


def scale(args, client):
    X_test, y_test = rows(10**6, N_TEST, args.features)
    for number, n_rows in enumerate(args.rows):
        is_mapped = args.format == "npy"
        X, y = collections(
            n_rows, args.features, args.chunk, args.folder if is_mapped else None)
        n_parts = X.numblocks[0]
        if not is_mapped:
            X, y = in_files(X, y, args.folder, args.format)
        watch, begin, before = Watch(), time.perf_counter(), readings(client)
        watch.start()
        model = ObliqueTreeClassifier(random_state=0, n_jobs=args.replicas).fit(X, y)
        seconds, cpu = time.perf_counter() - begin, watch.end()
        n_read, making = readings(client) - before
        steps, megabytes = moved(model, min(args.replicas, n_parts))
        found = {
            "rows": n_rows, "features": args.features,
            "from": args.format if args.folder else "made", "seconds": round(seconds, 1),
            "cpu": round(cpu, 1), "making": round(making, 1),
            "read": round(n_read / n_parts, 1) if is_mapped else "",
            "pss_mib": round(watch.peak[0]), "rss_mib": round(watch.peak[1]),
            "accuracy": round(model.score(X_test, y_test), 4), "steps": steps,
            "mb_moved": round(megabytes)}
        if number == 0:
            print("".join(f"{name:>10}" for name in found))
        print("".join(f"{value:>10}" for value in found.values()), flush=True)
        if args.output:
            add_to(args.output, found)


def add_to(path, row):
    """Add a row to a table, in which it takes the place of that of the same case."""
    case, table = ("rows", "features", "from"), []
    if path.exists():
        with path.open(newline="") as file:
            table = [each for each in csv.DictReader(file)
                     if any(each[name] != str(row[name]) for name in case)]
    table = sorted([*table, row], key=lambda each: (
        int(each["features"]), each["from"], int(each["rows"])))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, row.keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


def accuracy(args):
    """The fit on four partitions next to that in memory."""
    folder = Path(os.environ.get("NGDT_DATA", "../shared/data"))
    with np.load(folder / f"{args.data}.npz") as arrays:
        arrays = dict(arrays)
    if "X" in arrays:
        order = np.random.default_rng(0).permutation(len(arrays["X"]))
        train, test = np.split(order, [int(0.8 * len(order))])
        X, y, X_test, y_test = (arrays[name][each] for each in (train, test) for name in "Xy")
    else:
        order = np.random.default_rng(0).permutation(len(arrays["X_train"]))
        X, y, X_test, y_test = (arrays["X_train"][order], arrays["y_train"][order],
                                arrays["X_test"], arrays["y_test"])
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    chunk, found = -(-len(X) // args.replicas), {"memory": [], "partitions": []}
    parts = da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)
    for seed in range(args.seeds):
        parameters = {"optimizer": OPTIMIZERS[args.optimizer](), "random_state": seed}
        kind = "ObliqueTreeClassifier"
        if args.trees:
            kind, parameters["n_estimators"] = "ObliqueForestClassifier", args.trees
        alone = getattr(ngdt, kind)(**parameters).fit(X, y)
        model = getattr(ngdt.dask, kind)(n_jobs=args.replicas, **parameters).fit(*parts)
        for name, each in (("memory", alone), ("partitions", model)):
            found[name].append(100 * each.score(X_test, y_test))
    for name, scores in found.items():
        print(f"{args.data} {name:<11}{np.mean(scores):7.2f} +- "
              f"{np.std(scores, ddof=1) / len(scores)**0.5:.2f}   {np.round(scores, 2).tolist()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+",
                        default=[10**5, 10**6, 10**7])
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--chunk", type=lambda text: int(float(text)), default=250_000)
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="1GB", help="limit of a worker")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--format", choices=("npy", "parquet", "zarr"), default="npy")
    parser.add_argument("--output", type=Path, help="table of comma-separated values")
    parser.add_argument("--data")
    parser.add_argument("--optimizer", default="annealed", help="for --data")
    parser.add_argument("--trees", type=int, help="for --data: those of a forest")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    if args.data:
        return accuracy(args)
    with LocalCluster(n_workers=args.workers, threads_per_worker=1, memory_limit=args.memory,
                      dashboard_address=None) as cluster, Client(cluster) as client:
        client.run(lambda: __import__("ngdt.dask"))
        print("before: {:.0f} MiB pss, {:.0f} rss".format(*Watch().memory()))
        scale(args, client)


if __name__ == "__main__":
    main()
