"""The checkpoint of a fit: what it belongs to."""

import platform
from dataclasses import replace

import joblib
import numpy as np
import scipy
import sklearn
from scipy import sparse

from ngdt._training.checkpoint import CheckpointFile
from ngdt._util.version import __version__

# Parameters on which the trees do not depend, and the seed, of which only the result matters.
_IGNORED = {
    "callback", "checkpoint", "max_time", "n_jobs", "oob_score", "random_state", "verbose",
    "warm_start"}


def with_checkpoint(problem, estimator, path, before):
    """The problem of a fit, with its checkpoint and the seed that it was begun with.

    Parameters
    ----------
    problem : Problem
    estimator : estimator
    path : str, os.PathLike or None
        None: there is none.
    before : object or None
        What a warm start goes on from.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If there is a limit of time, if the file is no checkpoint, or one of another training.
    OSError
        If the file cannot be read or written.
    """
    if path is None:
        return problem
    if estimator.max_time is not None:
        raise ValueError(
            "checkpoint and max_time do not go together: what is trained in a limited time cannot "
            "be repeated. Use max_time=None")
    checkpoint = CheckpointFile(
        path, _training(problem, estimator, before), problem.random_state)
    return problem.replace(control=replace(problem.control, checkpoint=checkpoint),
                           random_state=checkpoint.random_state)


def _training(problem, estimator, before):
    """A digest of each thing that the trees depend on, by name."""
    parameters = estimator.get_params(deep=False)
    told = {name: value for name, value in parameters.items() if name not in _IGNORED}
    if parameters["random_state"] is not None:
        told["random_state"] = problem.random_state
    X = problem.X
    told |= {
        "X": (X.shape, X.data, X.indices, X.indptr) if sparse.issparse(X) else X,
        "y": problem.y, "sample_weight": problem.sample_weight, "groups": problem.groups,
        "sample_weight_val": problem.validation_weight, "the fit before": before,
        # It then decides whether trees draw their samples.
        "oob_score": parameters.get("bootstrap") == "auto" and bool(parameters["oob_score"]),
        "ngdt": __version__, "numpy": np.__version__, "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__, "python": platform.python_version(),
        "machine": platform.machine()}
    return {name: joblib.hash(value, hash_name="sha1", coerce_mmap=True)
            for name, value in told.items()}
