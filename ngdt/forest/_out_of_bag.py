"""Predictions of a forest for its training samples, by trees that were not trained on them."""

import numpy as np
from scipy.special import softmax


def out_of_bag_predictions(problem, sampling, estimators):
    """Mean prediction of the trees that a sample was not drawn for.

    Parameters
    ----------
    problem : Problem
        Of the whole forest.
    sampling : Sampling
    estimators : sequence of ObliqueTreeClassifier or ObliqueTreeRegressor
        The trees, with their seeds.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
        Probabilities of the classes, or targets in the units of y; NaN for samples that were drawn
        for every tree.
    """
    total = np.zeros((problem.X.shape[0], problem.n_outputs))
    n_trees = np.zeros((len(total), 1))
    for estimator in estimators:
        tree = estimator.tree_
        counts = sampling.counts(problem.sample_weight, estimator.random_state)
        samples = np.flatnonzero(counts == 0).astype(np.int32)
        predictions = problem.predictions(tree, samples)
        total[samples] += softmax(predictions, axis=1) if problem.loss.is_classifier else (
            predictions)
        n_trees[samples] += 1
    return np.divide(total, n_trees, out=np.full(total.shape, np.nan), where=n_trees > 0)
