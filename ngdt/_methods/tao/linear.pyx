"""The classifier of one node: linear, weighted, and with few or small weights.

`PenalisedLoss` is what is minimised, `NewtonFit` all but the steps. These are found by coordinate
descent on a quadratic model of a working set of a features, as in newGLMNET (Yuan, Ho & Lin 2012):
the model costs a^2 per sample, a sweep a^2. Or, if all of many features have weights, by
`ConjugateGradients`; for sparse data with many features, by `SparseDescent`.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dsyrk

from ngdt._training.control import NO_DEADLINE
from ngdt._methods.tao.conjugate_gradients import ConjugateGradients
from ngdt._methods.tao.sparse_descent import SparseDescent
from ngdt._methods.tao.newton cimport NewtonFit
from ngdt._methods.tao.penalised_loss cimport PenalisedLoss
from ngdt._methods.tao.working_set cimport WorkingSetFit
from ngdt._core.samples cimport Sample, Samples

cdef extern from "dot.h" nogil:
    void ngdt_add_f64_f64(
        double a, const void *x, const int32_t *indices, Py_ssize_t n, double *w) noexcept

cdef enum:
    SAMPLES_PER_PRODUCT = 256       # that enter the quadratic model at a time
    MAX_MODEL_FEATURES = 200        # up to which it is faster than some twenty products
    MAX_DENSE_FEATURES = 512        # of sparse data, up to which it is faster than some sweeps

cdef int MAX_SWEEPS = 20
cdef double SWEEP_TOL = 1e-2    # share of the first sweep's decrease that ends the sweeps


cdef class LinearSolver:
    """Fits linear classifiers to subsets of the same samples.

    Parameters
    ----------
    data : Samples
    scaling : Scaling
        Of the features that are penalised.
    loss : {"squared_hinge", "logistic"}
    penalty : {"l1", "l2"}
    tol : float
        A fit ends where the violation of the optimality conditions is this share of what it is at
        weights and intercept of zero, times the share of the costs that the lighter class has.
    max_steps : int
        Newton steps; with 0, a fit multiplies what it is given, and returns F there.
    deadline : Deadline
        Ends a fit after its last complete step.
    """

    cdef PenalisedLoss F
    cdef object kind, deadline
    cdef double tol
    cdef int max_steps

    def __init__(self, Samples data, scaling, loss="squared_hinge", penalty="l1", tol=1e-2,
                 max_steps=100, deadline=NO_DEADLINE):
        self.F = PenalisedLoss(data, scaling, loss, penalty)
        dense = penalty == "l2" and data.n_features > MAX_MODEL_FEATURES
        sparse = data.is_sparse and data.n_features > MAX_DENSE_FEATURES
        self.kind = ConjugateGradients if dense else (
            SparseDescent if sparse else _CoordinateDescent)
        self.tol, self.max_steps, self.deadline = tol, max_steps, deadline

    def fit(self, samples, target, cost, weights, double intercept):
        """Lower F from the best multiple of the given weights; several threads may do so at once.

        Parameters
        ----------
        samples : ndarray of int32, shape (n,)
        target : ndarray of float64, shape (n,)
            -1 or 1.
        cost : ndarray of float64, shape (n,)
            What each sample's loss is multiplied with, relative to a penalty of weight 1.
        weights : ndarray of float64, shape (n_features,)
            In scaled space.
        intercept : float

        Returns
        -------
        weights : ndarray of float64, shape (n_features,)
        intercept : float
        objective : float
            F.
        """
        cdef NewtonFit fit = self.kind(self.F, samples, target, cost, weights, intercept)
        fit.deadline, fit.is_timed = self.deadline, self.deadline.is_set
        with nogil:
            fit.run(self.tol, self.max_steps)
        return fit.weights.base[:fit.n_features], fit.weights[fit.n_features], fit.objective()


cdef class _CoordinateDescent(WorkingSetFit):
    """Steps within a working set of features, by a matrix of their second derivatives."""

    cdef int32_t[::1] place         # where each feature is among them, else -1
    cdef double[::1] chunk
    cdef double[::1] model          # second derivatives of the loss
    cdef double[::1] slope          # gradient of the model of the loss at the goal

    def __init__(self, F, samples, target, cost, weights, intercept):
        super().__init__(F, samples, target, cost, weights, intercept)
        widest = len(self.working)
        self.slope = np.empty(widest)
        self.place = np.full(self.n_features, -1, dtype=np.int32)
        self.chunk, self.model = np.empty(SAMPLES_PER_PRODUCT * widest), np.empty(widest * widest)

    cdef void find_goal(self) noexcept nogil:
        self.choose_working_set()
        self._make_model()
        if not self.is_late():
            self._minimise_model()

    cdef void _make_model(self) noexcept nogil:
        """Second derivatives of the loss: the sum of c loss'' z z' over the samples."""
        cdef int a = self.size, j, k, n = 0
        cdef Py_ssize_t i
        cdef double c, largest = 0.0
        for k in range(a - 1):
            self.place[self.working[k]] = k
        memset(&self.model[0], 0, <Py_ssize_t> a * a * sizeof(double))
        for i in range(self.n_samples):
            c = self.cost[i] * self.F.loss.curvature(self.margin[i])
            if c > 0.0:
                self._gather(self.samples[i], sqrt(c), &self.chunk[n * a])
                n += 1
            if n == SAMPLES_PER_PRODUCT:
                self._add_chunk(n)
                n = 0
                if self.is_late():
                    return
        if n:
            self._add_chunk(n)
        for k in range(a - 1):
            self.place[self.working[k]] = -1
        for k in range(a):
            for j in range(k):
                self.model[k * a + j] = self.model[j * a + k]
            largest = max(largest, self.model[k * a + k])
        # Else, by rounding, the model might fall without end in some direction.
        for k in range(a):
            self.model[k * a + k] += 1e-12 * largest if largest > 0.0 else 1.0

    cdef void _gather(self, Py_ssize_t sample, double factor, double *out) noexcept nogil:
        """Write the working set's features of a sample, scaled, and the constant feature."""
        cdef Sample x = self.F.data.get(sample)
        cdef bint is_float32 = self.F.data.is_float32
        cdef int k, a = self.size
        cdef Py_ssize_t e, j
        cdef double value
        if x.indices == NULL:
            for k in range(a - 1):
                j = self.working[k]
                value = (<const float *> x.values)[j] if is_float32 else (
                    <const double *> x.values)[j]
                out[k] = factor * (value - self.F.center[j]) * self.F.inverse[j]
        else:
            memset(out, 0, a * sizeof(double))
            for e in range(x.n):
                j = x.indices[e]
                k = self.place[j]
                if k >= 0:
                    value = (<const float *> x.values)[e] if is_float32 else (
                        <const double *> x.values)[e]
                    out[k] += factor * value * self.F.inverse[j]
        out[a - 1] = factor

    cdef void _add_chunk(self, int n) noexcept nogil:
        # Fortran sees the transpose: it fills what is here the upper triangle.
        cdef double one = 1.0
        dsyrk(b"L", b"N", &self.size, &n, &one, &self.chunk[0], &self.size, &one, &self.model[0],
              &self.size)

    cdef void _minimise_model(self) noexcept nogil:
        """Coordinate descent on penalty plus model, one Newton step per weight."""
        cdef int a = self.size, j, k, sweep
        cdef double h, goal, moved, decrease, first = 0.0
        cdef const double *curvature
        memcpy(&self.goal[0], &self.weights[0], (self.n_features + 1) * sizeof(double))
        for k in range(a):
            self.slope[k] = self.gradient[self.working[k]]
        for sweep in range(MAX_SWEEPS):
            decrease = 0.0
            for k in range(a):
                j = self.working[k]
                curvature = &self.model[k * a]
                h = curvature[k]
                if k < a - 1:
                    goal = self.F.penalty.minimiser(self.goal[j], self.slope[k], h)
                else:
                    goal = self.goal[j] - self.slope[k] / h
                moved = goal - self.goal[j]
                if moved == 0.0:
                    continue
                self.goal[j] = goal
                ngdt_add_f64_f64(moved, curvature, NULL, a, &self.slope[0])
                decrease += h * moved * moved
            if sweep == 0:
                first = decrease
            if decrease <= SWEEP_TOL * first:
                return
