"""Run experiments: `python -m experiments NAME [--quick]`, where NAME may be "all"."""

import argparse
from pathlib import Path

from experiments import gto, hehn, ideas, kernels, networks, norouzi, record, tao
from experiments.runner import RESULTS, run

EXPERIMENTS = {experiment.name: experiment for experiment in (
    record.EXPERIMENT, norouzi.DEPTHS, norouzi.LEAVES, norouzi.EPOCHS, tao.EXPERIMENT,
    gto.EXPERIMENT, hehn.END_TO_END, hehn.STEEPNESS, hehn.LOAD, hehn.SPATIAL,
    networks.EXPERIMENT, kernels.EXPERIMENT, ideas.EXPERIMENT)}


def main(arguments=None):
    listing = "\n".join(f"  {name:10} {each.about}" for name, each in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=f"{__doc__}\n\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*EXPERIMENTS, "all"])
    parser.add_argument("--quick", action="store_true",
                        help="seconds, on data that come with scikit-learn; to see that all runs")
    parser.add_argument("--report", action="store_true", help="draw what is there, run nothing")
    parser.add_argument("--only", nargs="*", default=[], metavar="KEY=VALUE",
                        help="jobs with one of the values of each key, as in data=letter seed=0")
    parser.add_argument("--output", type=Path, help="folder (default: experiments/results, or "
                        "experiments/quick with --quick)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    options = parser.parse_args(arguments)
    folder = options.output or (RESULTS.parent / "quick" if options.quick else RESULTS)
    for name in EXPERIMENTS if options.name == "all" else [options.name]:
        experiment = EXPERIMENTS[name]
        if not (experiment.can_run or options.report):
            message = f"{name} needs {experiment.needs}, which is not installed"
            if options.name != "all":
                parser.error(message)
            print(f"Left out: {message}")
            continue
        jobs = [] if options.report else [
            job for job in experiment.jobs(options.quick) if _is_wanted(job, options.only)]
        rows = run(experiment, jobs, folder, options.jobs)
        if experiment.report is not None:
            experiment.report(rows, folder)


def _is_wanted(job, only):
    """Whether the job has, for each key that is named, one of its values."""
    wanted = {}
    for item in only:
        key, _, value = item.partition("=")
        wanted.setdefault(key, set()).add(value)
    return all(str(job.get(key)) in values for key, values in wanted.items())


if __name__ == "__main__":
    main()
