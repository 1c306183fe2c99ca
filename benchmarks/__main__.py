"""Run benchmarks: `python -m benchmarks NAME [--quick]`, where NAME may be "all"."""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.runner import RESULTS, Benchmark, run

FILES = (
    "readme_table", "tables", "keel", "r_tables", "r_classes", "r_losses", "small_trees",
    "calibration", "model_trees", "monotone", "forests", "accuracy", "synthetic", "wide", "exports",
    "cost", "partitions", "record", "ideas", "norouzi", "tao", "gto", "hehn", "networks", "kernels")
BENCHMARKS = {each.name: each for file in FILES
              for each in vars(import_module(f"benchmarks.{file}")).values()
              if isinstance(each, Benchmark)}


def main(arguments=None):
    listing = "\n".join(f"  {name:20} {each.about}" for name, each in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=f"{__doc__}\n\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*BENCHMARKS, "all"], metavar="NAME")
    parser.add_argument("--quick", action="store_true",
                        help="seconds, on data that come with scikit-learn; to see that all runs")
    parser.add_argument("--report", action="store_true",
                        help="draw and print what is there, run nothing")
    parser.add_argument("--only", nargs="*", default=[], metavar="KEY=VALUE",
                        help="jobs with one of the values of each key, as in data=letter seed=0")
    parser.add_argument("--output", type=Path, help="folder (default: benchmarks/results, or "
                        "benchmarks/quick with --quick)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    options = parser.parse_args(arguments)
    folder = options.output or (RESULTS.parent / "quick" if options.quick else RESULTS)
    for name in BENCHMARKS if options.name == "all" else [options.name]:
        benchmark = BENCHMARKS[name]
        message = _missing(benchmark, folder, options.report)
        if message:
            if options.name != "all":
                parser.error(message)
            print(f"Left out: {message}")
            continue
        jobs = [] if options.report else benchmark.jobs(options.quick)
        wanted = [job for job in jobs if _is_wanted(job, options.only)]
        if jobs and not wanted and options.name != "all":
            parser.error(f"--only: no job has {' '.join(options.only)}; the first one is " +
                         " ".join(f"{key}={value}" for key, value in jobs[0].items()))
        rows = run(benchmark, wanted, folder, options.jobs)
        if benchmark.report is not None:
            benchmark.report(rows, folder)


def _missing(benchmark, folder, is_report):
    """Reason why a benchmark cannot be run, or reported; empty if there is none."""
    if is_report:
        has_rows = (folder / f"{benchmark.name}.csv").exists()
        return "" if has_rows else f"{benchmark.name} has no rows in {folder}"
    return "" if benchmark.can_run else (
        f"{benchmark.name} needs {benchmark.needs}, which is not installed")


def _is_wanted(job, only):
    """Return whether the job has, for each key that is named, one of its values."""
    wanted = {}
    for item in only:
        key, _, value = item.partition("=")
        wanted.setdefault(key, set()).add(value)
    return all(str(job.get(key)) in values for key, values in wanted.items())


if __name__ == "__main__":
    main()
