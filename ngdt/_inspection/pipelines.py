"""The tree inside of a pipeline or a search, and what the steps before it do to the columns."""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ngdt._core.tree import Tree


def unwrap(model):
    """The transformers in pipelines and searches before the estimator, a list, and this one."""
    steps = []
    while True:
        inner = _chosen(model)
        if isinstance(model, Pipeline):
            steps += _flat(step for _, step in model.steps[:-1])
            inner = model[-1]
        if inner is None:
            return steps, model
        model = inner


def _chosen(model):
    """The estimator that a search has chosen, or that is frozen; None if there is none."""
    if isinstance(model, FrozenEstimator):
        return model.estimator
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_
    return getattr(model, "estimator_", None) if isinstance(
        getattr(model, "tree_", None), Tree) else None


def _flat(steps):
    """Steps that do something; of pipelines and frozen ones, those that are inside."""
    return [
        each for step in steps if step not in (None, "passthrough") for each in (
            _flat(inner for _, inner in step.steps) if isinstance(step, Pipeline)
            else _flat([step.estimator]) if isinstance(step, FrozenEstimator) else [step])]


def names_out(steps):
    """Names of the columns that transformers make; None if they have none."""
    if not steps:
        return None
    try:
        return Pipeline([(str(k), step) for k, step in enumerate(steps)]).get_feature_names_out()
    except (AttributeError, ValueError):    # not every transformer can name its columns
        return None


def units_of(steps, n_columns):
    """Unit and zero of each column before the last transformers scaled it.

    Parameters
    ----------
    steps : list of transformers
    n_columns : int
        Number of columns that they make.

    Returns
    -------
    scale, offset : ndarray of shape (n_columns,)
        A number z of a column was ``scale * z + offset`` before; 1 and 0 if no scaler is known.
    """
    scale, offset = np.ones(n_columns), np.zeros(n_columns)
    for step in reversed(steps):
        is_parts = isinstance(step, ColumnTransformer)
        units = _units_of_parts(step, n_columns) if is_parts else _units_of_scaler(step)
        if units is None:
            break
        scale, offset = scale * units[0], offset * units[0] + units[1]
        if is_parts:    # its columns are others than those of the steps before it
            break
    return scale, offset


def _units_of_scaler(step):
    """Scale and offset of a transformer that scales each column by itself; else None."""
    if isinstance(step, StandardScaler):
        return step.scale_ if step.with_std else 1.0, step.mean_ if step.with_mean else 0.0
    if isinstance(step, MinMaxScaler) and not step.clip:
        return 1.0 / step.scale_, -step.min_ / step.scale_
    if isinstance(step, MaxAbsScaler) and not getattr(step, "clip", False):
        return step.scale_, 0.0
    if isinstance(step, RobustScaler):
        return (step.scale_ if step.with_scaling else 1.0,
                step.center_ if step.with_centering else 0.0)
    return None


def _units_of_parts(step, n_columns):
    """Scales and offsets of the parts of a ColumnTransformer; other parts are left as they are."""
    scale, offset = np.ones(n_columns), np.zeros(n_columns)
    for name, part, _ in step.transformers_:
        columns = step.output_indices_[name]
        scale[columns], offset[columns] = units_of(_flat([part]), columns.stop - columns.start)
    return scale, offset
