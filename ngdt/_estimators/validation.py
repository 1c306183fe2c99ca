"""Arguments of `fit` that say on which samples choices are made."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from ngdt._encoding.check import check_table
from ngdt._encoding.check_targets import check_groups, check_names_of_targets, check_targets
from ngdt._encoding.targets import weighted_by_class
from ngdt._util.arrays import as_dense
from ngdt._util.validation import canonical_csr, check_finite, check_weight, error_prefix


class Validation(NamedTuple):
    """Own validation samples and groups, as they are given."""

    X_val: Any = None
    y_val: Any = None
    sample_weight_val: Any = None
    groups: Any = None

    def added_to(self, problem, estimator, fitted, sample_weight):
        """The problem of the samples of a fit, with the groups and the validation samples.

        Parameters
        ----------
        problem : Problem
        estimator : estimator
        fitted : dict
            Fitted attributes that depend on X and y only.
        sample_weight : array-like or None
            Of the samples of the fit.

        Returns
        -------
        Problem
            Validation samples of positive weight follow the given ones.
        """
        problem = problem.replace(groups=check_groups(self.groups, problem.sample_weight))
        if all(value is None for value in self[:3]):
            return problem
        if self.X_val is None or self.y_val is None:
            raise ValueError(
                "X_val and y_val must be given together, but "
                f"{'X_val' if self.X_val is None else 'y_val'} is missing")
        # Gaps in columns that have none in X become means, as in predictions.
        table = fitted["_table"].with_means(problem.moments.mean)
        y = self._targets(problem, estimator, fitted)
        with error_prefix("X_val"):
            raw, *_ = check_table(estimator, self.X_val, table.categorical, reset=False)
            X = _of_type(table.transform(raw, name="X_val"), problem.X)
        if X.shape[0] != len(y):
            raise ValueError(f"y_val has {len(y)} samples, but X_val has {X.shape[0]}")
        weight = check_weight(self.sample_weight_val, len(y), "sample_weight_val")
        if is_classifier(estimator):
            # Classes weigh as much as in X.
            by_class = fitted["_targets"].weight_by_class(
                estimator.class_weight, problem.y[:, 0].astype(np.intp),
                check_weight(sample_weight, len(problem.y)))
            weight = weighted_by_class(
                by_class, y[:, 0].astype(np.intp), weight, "sample_weight_val")
        present = np.flatnonzero(weight)
        return _stacked(problem, X[present], y[present], weight[present])

    def _targets(self, problem, estimator, fitted):
        encoder = fitted["_targets"]
        with error_prefix("y_val"):
            y = check_targets(estimator, self.y_val, **estimator._check_y_params)
            n_outputs = 1 if y.ndim == 1 else y.shape[1]
            if not is_classifier(estimator) and n_outputs != encoder.n_outputs:
                raise ValueError(f"expected {encoder.n_outputs} targets, as y has, got {n_outputs}")
            y = problem.loss.encode(encoder.encode(y), encoder.n_outputs)
        check_names_of_targets(encoder, self.y_val, "y_val")
        return y

    def refuse(self, name):
        """Raise a ValueError if an argument is given; the estimator of this name takes none."""
        given = [field for field, value in self._asdict().items() if value is not None]
        if given:
            raise ValueError(f"{name} does not take {given[0]}: leave it out, or train in memory")


NO_VALIDATION = Validation()


def _of_type(X, given):
    """X in the form and the type of the samples that are trained on."""
    X = canonical_csr(sparse.csr_array(X)) if sparse.issparse(given) else as_dense(X)
    with np.errstate(over="ignore"):
        X = X.astype(given.dtype, copy=False)
    check_finite(f"every number, as {given.dtype} like X,", X.data if sparse.issparse(X) else X)
    return X


def _stacked(problem, X, y, weight):
    """The problem with validation samples of its own."""
    n, n_more = len(problem.y), len(y)
    groups = problem.groups
    if groups is not None:      # each of them is one
        groups = np.concatenate([groups, groups.max() + 1 + np.arange(n_more)])
    stack = partial(sparse.vstack, format="csr") if sparse.issparse(problem.X) else np.vstack
    return problem.replace(
        X=stack([problem.X, X]), y=np.concatenate([problem.y, y]), groups=groups,
        sample_weight=np.concatenate([problem.sample_weight, np.zeros(n_more)]),
        validation_weight=np.concatenate([np.zeros(n), weight]),
        own_validation=True).knowing(moments=problem.moments)
