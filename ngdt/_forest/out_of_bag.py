"""Predictions of a forest for its training samples, by trees that were not trained on them."""

from dataclasses import replace

import numpy as np
from scipy.special import softmax

from ngdt._util.warn import warn

# Share of samples without a prediction above which there is a warning. About one sample in a
# hundred is drawn for each of ten trees.
_MAX_UNKNOWN = 0.01


def out_of_bag_predictions(problem, sampling, estimators):
    """Mean prediction of the trees that a sample was not drawn for.

    Parameters
    ----------
    problem : Problem
        Of the whole forest.
    sampling : Sampling
    estimators : sequence of ObliqueTreeClassifier or ObliqueTreeRegressor
        The trees, with their seeds. Those of a trial of kinds have none, and predict nothing here;
        nor do those of an earlier fit with another number of samples, or other groups.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
        Probabilities of the classes, or targets in the units of y; NaN for samples that were drawn
        for every tree.

    Warns
    -----
    UserWarning
        If more than one sample in a hundred has no prediction.
    """
    units, *_ = sampling.draw(problem)
    estimators = [each for each in estimators if each.random_state is not None
                  and getattr(each, "_draw", (None,))[0] == units]
    n_samples = problem.X.shape[0] - len(problem.validation_samples)    # which come last
    total = np.zeros((n_samples, problem.n_outputs))
    n_trees = np.zeros((len(total), 1))
    for estimator in estimators:
        tree = estimator.tree_
        _, bootstrap, n_drawn = estimator._draw    # perhaps of an earlier fit
        counts = replace(sampling, bootstrap=bootstrap, n_drawn=n_drawn).counts(
            problem.sample_weight, estimator.random_state, problem.groups)
        samples = np.flatnonzero(counts[:n_samples] == 0).astype(np.int32)
        predictions = problem.predictions(tree, samples)
        total[samples] += softmax(predictions, axis=1) if problem.loss.is_classifier else (
            predictions)
        n_trees[samples] += 1
    unknown = (n_trees == 0).mean()
    if unknown > _MAX_UNKNOWN:
        warn(f"{unknown:.0%} of the samples have no out-of-bag prediction, as they were drawn for "
             "every tree, or training ended early: use more trees, more time, or a smaller "
             "max_samples")
    return np.divide(total, n_trees, out=np.full(total.shape, np.nan), where=n_trees > 0)
