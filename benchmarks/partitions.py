"""Trees on dask partitions: time, memory and accuracy.

*By the number of rows.* Rows are float32, of four classes: normal features, and a random oblique
tree of 16 leaves says the class, for one row in twenty a wrong one. They never are in memory
together: they are made when they are read, or are in files of a temporary folder, which TMPDIR
names. A row has the seconds of the fit, processor time of all processes, and that of making rows;
how often each partition was read, for X and for y together; the peak of the memory of all processes
together, in which shared pages count once (pss) and once for each process (rss); accuracy on new
rows, steps of a replica, and megabytes that replicas send and receive.

*Accuracy* beside the fit in memory, on four partitions.
"""

import os
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.data import split
from benchmarks.figures import cost_of_partitions
from benchmarks.runner import Benchmark
from ngdt.optimizers import OPTIMIZERS

N_LEAVES, N_CLASSES, N_TEST = 16, 4, 50_000
CHUNK, N_REPLICAS, N_WORKERS, MEMORY = 250_000, 4, 2, "1GB"


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
    import dask.array as da

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


def collections(n_rows, n_features, folder):
    """dask arrays of so many rows: made when they are read, or mapped from files."""
    import dask.array as da
    from dask import delayed

    n_chunks = -(-n_rows // CHUNK)
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
    """Read data, and count the readings of a worker and their processor time."""
    from distributed import get_worker

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
        import psutil

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
    n_training = 0.9 * model.n_node_samples_[0] if model.tree_.n_internal else 0
    batch = max(250 // n_replicas, 64, int(n_training) // (n_replicas * 10_000))
    steps = model.n_iter_ * int(n_training) // (n_replicas * batch)
    return steps, 2 * n_replicas * size * -(-steps // 8) / 1e6


def cost_jobs(quick):
    cases = ((400, 3, "made"),) if quick else (
        *((10**exponent, 20, "made") for exponent in (5, 6, 7, 8)),
        (10**7, 20, "zarr"), (10**7, 50, "npy"), (10**7, 20, "parquet"))
    return [dict(zip(COST.keys, case, strict=True)) for case in cases]


def cost_run(rows, features, **source):
    """A fit by workers with a limit of memory each, and a client."""
    from distributed import Client, LocalCluster

    with TemporaryDirectory() as folder, LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, memory_limit=MEMORY,
            dashboard_address=None) as cluster, Client(cluster) as client:
        client.run(lambda: __import__("ngdt.dask"))
        return [cost_of(client, rows, features, source["from"], Path(folder))]


def cost_of(client, n_rows, n_features, source, folder):
    from ngdt.dask import ObliqueTreeClassifier

    is_counted = source in ("made", "npy")
    X, y = collections(n_rows, n_features, folder if source == "npy" else None)
    n_parts = X.numblocks[0]
    if not is_counted:
        X, y = in_files(X, y, folder, source)
    watch, begin, before = Watch(), time.perf_counter(), readings(client)
    watch.start()
    model = ObliqueTreeClassifier(random_state=0, n_jobs=N_REPLICAS).fit(X, y)
    seconds, cpu = time.perf_counter() - begin, watch.end()
    n_read, making = readings(client) - before
    steps, megabytes = moved(model, min(N_REPLICAS, n_parts))
    return {"seconds": seconds, "cpu": cpu, "making": making,
            "read": n_read / n_parts if is_counted else "",
            "pss_mib": round(watch.peak[0]), "rss_mib": round(watch.peak[1]),
            "accuracy": model.score(*rows(10**6, N_TEST, n_features)), "steps": steps,
            "mb_moved": round(megabytes)}


COST = Benchmark(
    "partitions", "trees on dask partitions: time and memory", ("rows", "features", "from"),
    ("seconds", "cpu", "making", "read", "pss_mib", "rss_mib", "accuracy", "steps", "mb_moved"),
    cost_jobs, cost_run, cost_of_partitions, needs="dask")


def accuracy_jobs(quick):
    """Jobs of single trees, which are no forest of 0 trees, and of ten trees."""
    if quick:
        return [{"data": "iris", "optimizer": "ssgd", "trees": 0, "seed": 0}]
    return [{"data": data, "optimizer": optimizer, "trees": n_trees, "seed": seed}
            for optimizer, n_trees, n_seeds, names in (
                ("annealed", 0, 5, ("pendigits", "connect4", "mnist")),
                ("ssgd", 0, 5, ("pendigits", "connect4", "mnist")),
                ("annealed", 10, 3, ("pendigits", "connect4")))
            for data in names for seed in range(n_seeds)]


def accuracy_run(data, optimizer, trees, seed):
    import dask.array as da

    import ngdt
    import ngdt.dask

    X, y, X_test, y_test = split(data, 0)
    order = np.random.default_rng(0).permutation(len(X))
    X, y, chunk = X[order], y[order], -(-len(X) // N_REPLICAS)
    parameters = {"optimizer": OPTIMIZERS[optimizer](), "random_state": seed}
    if trees:
        parameters["n_estimators"] = trees
    kind = "ObliqueForestClassifier" if trees else "ObliqueTreeClassifier"
    alone = getattr(ngdt, kind)(**parameters).fit(X, y)
    model = getattr(ngdt.dask, kind)(n_jobs=N_REPLICAS, **parameters).fit(
        da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk))
    return [{"memory": 100 * alone.score(X_test, y_test),
             "partitions": 100 * model.score(X_test, y_test)}]


def accuracy_report(rows, folder):
    groups = rows.groupby(["optimizer", "trees", "data"], sort=False)
    print(groups[["memory", "partitions"]].agg(["mean", "sem"]).round(2).to_string())


ACCURACY = Benchmark(
    "partitions_accuracy", "trees on dask partitions, beside those in memory",
    ("data", "optimizer", "trees", "seed"), ("memory", "partitions"), accuracy_jobs, accuracy_run,
    accuracy_report, needs="dask")
