"""The model that is exported: what is inside of pipelines and searches."""

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ngdt.forest._base import ObliqueForest
from ngdt.path import TAOPathCV


def inner_model(model):
    """The tree or estimator inside of a model, which reads the same columns.

    Parameters
    ----------
    model : Tree, fitted estimator, or Pipeline of nothing else

    Returns
    -------
    Tree or fitted estimator

    Raises
    ------
    ValueError
        If a step of a pipeline changes the columns.
    """
    if isinstance(model, Pipeline):
        steps = _transformers(model)
        if steps:
            raise ValueError(
                f"model is a pipeline whose step {steps[0]!r} transforms the columns, which an "
                "export of the tree leaves out: export model[-1], for samples that "
                "model[:-1].transform has made")
        return inner_model(model[-1])
    if isinstance(model, TAOPathCV):
        check_is_fitted(model)
        return model.estimator_
    return model


def readable_model(model, feature_names):
    """The single tree or estimator that a text or a graph shows, and names of its columns.

    Parameters
    ----------
    model : Tree, fitted estimator, or Pipeline
        Of a pipeline, the last step, which reads the columns that the others make.
    feature_names : sequence or None
        Names that the caller gives.

    Returns
    -------
    model : Tree or fitted estimator
    feature_names : sequence or None
    """
    if isinstance(model, Pipeline) and _transformers(model):
        if feature_names is None:
            feature_names = _names_out(model[:-1])
        model = model[-1]
    model = inner_model(model)
    if isinstance(model, ObliqueForest):
        raise TypeError(
            "model must be a single tree, got a forest: pass one of its estimators_")
    return model, feature_names


def _transformers(pipeline):
    """Names of the steps before the last that do something."""
    return [name for name, step in pipeline.steps[:-1] if step not in (None, "passthrough")]


def _names_out(transformers):
    """Names of the columns that transformers make; None if they have none."""
    try:
        return transformers.get_feature_names_out()
    except (AttributeError, ValueError):    # not every transformer can name its columns
        return None
