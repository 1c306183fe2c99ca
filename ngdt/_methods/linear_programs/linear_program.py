"""Linear program for one plane, and its data."""

from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ngdt._training.control import NO_DEADLINE

# Price, relative to the largest one, up to which the solver does not distinguish it from zero.
_NEGLIGIBLE_PRICE = 1e-12
# Price, relative to the largest one, from which a bound is well above the tolerance of the solver.
_MIN_DUAL_PRICE = 1e-5
_TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# Seconds between two looks at the deadline.
_LOOK_SECONDS = 0.02


def distinct(problem):
    """Merge equal samples of a problem, and sort them by their content.

    The vertex at which a solver ends depends on the order of the samples. With merged and sorted
    samples, the result does not depend on their order, and a sample of weight k is the same as k
    samples.

    Parameters
    ----------
    problem : Problem
        For classification.

    Returns
    -------
    Problem
        Its samples differ in features or class, and have positive weights. It has no validation
        samples.
    """
    samples = np.flatnonzero(problem.sample_weight > 0)
    X, y = problem.X[samples], problem.y[samples]
    if sparse.issparse(X):
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        content = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends]
        keys = np.empty(len(samples), dtype=object)
        keys[:] = list(zip(y[:, 0].tolist(), content, strict=True))
    else:
        X += 0.0    # makes -0.0 the same as 0.0
        # The bytes of numbers that are not negative have their order if the highest is the first.
        keys = np.hstack([each.view(np.uint8) for each in (y[:, :1].astype(">f8"), X)])
        keys = keys.view(f"V{keys.shape[1]}")[:, 0]
    _, first, merged = np.unique(keys, return_index=True, return_inverse=True)
    return problem.replace(
        X=X[first], y=y[first], validation_weight=None, groups=None,
        sample_weight=np.bincount(merged.ravel(), weights=problem.sample_weight[samples]))


def place_plane(X, left, right, deadline=NO_DEADLINE):
    """Plane with the least sum of hinge errors: robust linear programming.

    Minimises ``sum(left * max(0, 1 + s) + right * max(0, 1 - s))`` over all scores
    ``s = X @ weights - threshold``. Bennett & Mangasarian (1992).

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
        Float64.
    left, right : ndarray of float64, shape (n_samples,)
        Price of the hinge error of each sample where it should be on the left, or on the right. Not
        negative. A sample may have both.
    deadline : Deadline
        By default, there is none.

    Returns
    -------
    ndarray of shape (n_features + 1,), or None
        Weights, followed by the threshold. None if all prices are zero, if the solver fails, or if
        it is not done at the deadline.

    Notes
    -----
    The dual program is solved. It has an equation per feature and a bounded variable per price, and
    takes a fraction of the time of the primal program, which has a slack variable per price. The
    plane is the vector of marginals of the equations. The prices are bounds of the dual program. If
    they differ by many orders of magnitude, the smallest are near the tolerance of the solver. Then
    the primal program is solved.
    """
    price = np.concatenate([left, right])
    largest = price.max(initial=0.0)
    paid = np.flatnonzero(price > _NEGLIGIBLE_PRICE * largest)
    if len(paid) == 0 or not deadline.fits():
        return None
    n, price = len(left), price[paid] / largest
    # Error of price k: max(0, 1 + signed[k] @ plane)
    signed = sparse.csr_array(sparse.hstack(
        [sparse.csr_array(X[paid % n]), -np.ones((len(paid), 1))]).multiply(
            np.where(paid < n, 1.0, -1.0)[:, None]))
    plane = _solve(_dual, signed, price, deadline) if price.min() > _MIN_DUAL_PRICE else None
    return _solve(_primal, signed, price, deadline) if plane is None else plane


def _solve(program, signed, price, deadline):
    """Plane of a program, or None if there is none at the deadline."""
    if not deadline.fits():
        return None
    # Nothing can interrupt the solver. Where it is not waited for, its thread ends by itself. The
    # interpreter waits for that when it exits: a daemon thread in C++ would abort the process.
    seconds, executor = deadline.left if deadline.is_set else None, ThreadPoolExecutor(1)
    future = executor.submit(program, signed, price, seconds)
    executor.shutdown(wait=False)
    while not wait([future], _LOOK_SECONDS).done:
        if not deadline.fits():
            return None
    return future.result()


def _dual(signed, price, seconds):
    """Maximise the sum of 0 <= a <= price, subject to ``a @ signed = 0``."""
    solved = linprog(
        -np.ones(len(price)), A_eq=signed.T.tocsc(), b_eq=np.zeros(signed.shape[1]),
        bounds=np.column_stack([np.zeros(len(price)), price]), method="highs",
        options={**_TOLERANCES, "time_limit": seconds})
    return solved.eqlin.marginals if solved.status == 0 else None


def _primal(signed, price, seconds):
    """Minimise ``price @ u``, subject to ``u >= 1 + signed @ plane`` and ``u >= 0``."""
    n, n_weights = signed.shape
    solved = linprog(
        np.concatenate([np.zeros(n_weights), price / price.min()]),
        A_ub=sparse.hstack([signed, sparse.diags_array(np.full(n, -1.0))]).tocsc(),
        b_ub=np.full(n, -1.0), bounds=[(None, None)] * n_weights + [(0, None)] * n,
        method="highs", options={**_TOLERANCES, "time_limit": seconds})
    return solved.x[:n_weights] if solved.status == 0 else None
