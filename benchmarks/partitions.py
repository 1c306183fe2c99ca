"""Trees on dask partitions: time, memory and accuracy against the number of rows.

    python benchmarks/partitions.py                      10^5 to 10^7 rows, made when they are read
    python benchmarks/partitions.py --folder /tmp/rows   the same, from files that are mapped
        --format parquet                                 or from other files: parquet, zarr
    python benchmarks/partitions.py --data mnist         accuracy next to the fit in memory

Rows are float32, of four classes: normal features, and a random oblique tree of 16 leaves says the
class, for one row in twenty a wrong one. They never are in memory together. Prints a row per case:
seconds of the fit, processor time of all processes, the peak of their memory together, accuracy on
new rows, steps of a replica, and megabytes that replicas send and receive.

In its own line: the greatest memory of the processes before the fit, of which imports take most.
"""

import argparse
import os
import threading
import time
from pathlib import Path

import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster

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
    if folder is None:
        make = lambda part, which: rows(*part)[which]       # noqa: E731
    else:
        for part in parts:
            for name, values in zip("Xy", rows(*part), strict=True):
                np.save(folder / f"{name}{part[0]}.npy", values)
        make = lambda part, which: np.load(                 # noqa: E731
            folder / f"{'Xy'[which]}{part[0]}.npy", mmap_mode="r")
    from dask import delayed
    X, y = ([da.from_delayed(delayed(make)(part, which), (part[1], *shape), dtype)
             for part in parts] for which, shape, dtype in (
                 (0, (n_features,), np.float32), (1, (), np.int64)))
    return da.concatenate(X), da.concatenate(y)


class Watch(threading.Thread):
    """Greatest memory, and processor time, of this process and all below it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.ended, self.begin = 0.0, threading.Event(), self.processor_time()

    def processes(self):
        own = psutil.Process(os.getpid())
        return [own, *own.children(recursive=True)]

    def processor_time(self):
        return sum(sum(each.cpu_times()[:2]) for each in self.processes())

    def memory(self):
        # Pages that are shared, as those of files that are mapped, count once for each process.
        return sum(each.memory_info().rss for each in self.processes()) / 2**20

    def run(self):
        while not self.ended.wait(0.2):
            self.peak = max(self.peak, self.memory())

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


def scale(args):
    X_test, y_test = rows(10**6, N_TEST, args.features)
    print(f"{'rows':>10}{'seconds':>9}{'cpu':>8}{'peak MiB':>10}{'accuracy':>10}{'steps':>8}"
          f"{'MB moved':>10}")
    for n_rows in args.rows:
        is_mapped = args.format == "npy"
        X, y = collections(
            n_rows, args.features, args.chunk, args.folder if is_mapped else None)
        n_parts = X.numblocks[0]
        if not is_mapped:
            X, y = in_files(X, y, args.folder, args.format)
        watch, begin = Watch(), time.perf_counter()
        watch.start()
        model = ObliqueTreeClassifier(random_state=0, n_jobs=args.replicas).fit(X, y)
        seconds, cpu = time.perf_counter() - begin, watch.end()
        steps, megabytes = moved(model, min(args.replicas, n_parts))
        print(f"{n_rows:>10}{seconds:>9.1f}{cpu:>8.1f}{watch.peak:>10.0f}"
              f"{model.score(X_test, y_test):>10.4f}{steps:>8}{megabytes:>10.0f}", flush=True)


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
        print(f"before: {Watch().memory():.0f} MiB")
        scale(args)


if __name__ == "__main__":
    main()
