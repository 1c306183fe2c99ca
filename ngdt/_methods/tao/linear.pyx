"""The classifier of one node: linear, weighted, and with few or small weights.

`NewtonFit` does all but the steps. These are found by coordinate descent on a quadratic model of a
working set of a features, as in newGLMNET (Yuan, Ho & Lin 2012): the model costs a^2 per sample, a
sweep a^2. Or, if all of many features have weights, by `ConjugateGradients`; for sparse data with
many features, by `SparseDescent`.
"""

import numpy as np

from ngdt._training.control import NO_DEADLINE

from libc.math cimport fabs, fmax, sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dsyrk

from ngdt._core.samples cimport Sample, Samples, ngdt_add_f64_f64, ngdt_dense_f64_f64
from ngdt._methods.tao.newton cimport NewtonFit, hinge_curvature, minimiser, stored, violation_of

cdef enum:
    SAMPLES_PER_PRODUCT = 256       # that enter the quadratic model at a time
    MAX_MODEL_FEATURES = 200        # up to which it is faster than some twenty products
    MAX_DENSE_FEATURES = 512        # of sparse data, up to which it is faster than some sweeps
    # A model of these is a matrix of this size, squared. And with more of them at a time, a fit
    # that ends early has many small weights, and was up to three points less accurate.
    MAX_WORKING_FEATURES = 1024

cdef int MAX_SWEEPS = 20
cdef double SWEEP_TOL = 1e-2    # share of the first sweep's decrease that ends the sweeps
cdef int MAX_PRODUCTS = 250
cdef double PRODUCT_TOL = 0.05  # share of the violation that ends the products


cdef class LinearSolver:
    """Fits linear classifiers to subsets of the same samples.

    Parameters
    ----------
    data : Samples
    scaling : Scaling
        Of the features that are penalised.
    penalty : {"l1", "l2"}
    tol : float
        A fit ends where the violation of the optimality conditions is this share of what it is at
        weights and intercept of zero, times the share of the costs that the lighter class has.
    max_steps : int
        Newton steps; with 0, a fit only multiplies what it is given.
    deadline : Deadline
        Ends a fit after its last complete step.
    """

    cdef tuple common       # arguments of all fits
    cdef object kind
    cdef double tol
    cdef int max_steps

    def __init__(self, Samples data, scaling, penalty="l1", tol=1e-2, max_steps=100,
                 deadline=NO_DEADLINE):
        self.common = data, scaling.center, 1.0 / scaling.scale, penalty == "l1", deadline
        if penalty == "l2" and data.n_features > MAX_MODEL_FEATURES:
            self.kind = ConjugateGradients
        elif data.is_sparse and data.n_features > MAX_DENSE_FEATURES:
            self.kind = SparseDescent
        else:
            self.kind = CoordinateDescent
        self.tol, self.max_steps = tol, max_steps

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
        """
        cdef NewtonFit fit = self.kind(*self.common, samples, target, cost, weights, intercept)
        with nogil:
            fit.run(self.tol, self.max_steps)
        if fit.interruption is not None:
            raise fit.interruption
        return fit.weights.base[:fit.n_features], fit.weights[fit.n_features]


cdef class WorkingSetFit(NewtonFit):
    """`NewtonFit` with a choice of features for the next step: those used or that should be."""

    cdef int32_t[::1] working       # features of the working set, and the intercept
    cdef int size                   # how many these are

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.working = np.empty(
            min(self.n_features, <Py_ssize_t> MAX_WORKING_FEATURES) + 1, dtype=np.int32)

    cdef void choose_working_set(self) noexcept nogil:
        """All features that are used or violate optimality; if too many, those that do most."""
        cdef int most = <int> self.working.shape[0] - 1
        cdef double least = -1.0, more = self.violation(&self.weights[0]) / (16.0 * self.n_features)
        cdef Py_ssize_t j
        if self._count_above(least) > most:
            least = 0.0
            # In small steps: what lies within one of them is taken in the order of the features.
            while more > 0.0 and self._count_above(more) >= most:
                least, more = more, 1.2 * more
        self.size = 0
        for j in range(self.n_features):
            if self.size < most and self._is_above(j, least):
                self.working[self.size] = <int32_t> j
                self.size += 1
        self.working[self.size] = <int32_t> self.n_features      # the intercept
        self.size += 1

    cdef bint _is_above(self, Py_ssize_t j, double least) noexcept nogil:
        cdef double violation = violation_of(
            self.weights[j], self.gradient[j], self.is_l1)
        return violation > fmax(least, 0.0) or (least < 0.0 and self.weights[j] != 0.0)

    cdef Py_ssize_t _count_above(self, double least) noexcept nogil:
        cdef Py_ssize_t j, count = 0
        for j in range(self.n_features):
            count += self._is_above(j, least)
        return count


cdef class CoordinateDescent(WorkingSetFit):
    """Steps within a working set of features, by a matrix of their second derivatives."""

    cdef int32_t[::1] place         # where each feature is among them, else -1
    cdef double[::1] chunk
    cdef double[::1] model          # second derivatives of the loss
    cdef double[::1] slope          # gradient of the model of the loss at the goal

    def __init__(self, *arguments):
        super().__init__(*arguments)
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
            c = self.cost[i] * hinge_curvature(self.margin[i])
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
        cdef Sample x = self.data.get(sample)
        cdef bint is_float32 = self.data.is_float32
        cdef int k, a = self.size
        cdef Py_ssize_t e, j
        if x.indices == NULL:
            for k in range(a - 1):
                j = self.working[k]
                out[k] = factor * (stored(&x, j, is_float32) - self.center[j]) * (
                    self.inverse[j])
        else:
            memset(out, 0, a * sizeof(double))
            for e in range(x.n):
                j = x.indices[e]
                k = self.place[j]
                if k >= 0:
                    out[k] += factor * stored(&x, e, is_float32) * self.inverse[j]
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
                    goal = minimiser(self.goal[j], self.slope[k], h, self.is_l1)
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


cdef class SparseDescent(WorkingSetFit):
    """Steps within the working set by columns, for sparse data with many features.

    The quadratic model is not written out. A change of a weight is added to the scores of the
    samples that have the feature, so that a sweep costs the stored values of the features that it
    goes through.
    """

    # Stored values by feature: the first of each, the place of its sample, the scaled value.
    cdef Py_ssize_t[::1] start
    cdef int32_t[::1] place
    cdef double[::1] value
    cdef double[::1] curvature      # per sample: of its loss, times its cost
    cdef double[::1] moved          # per sample: change of its score so far
    cdef double[::1] second         # per feature: second derivative of the model
    cdef double least               # added to second derivatives

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.start = np.zeros(self.n_features + 2, dtype=np.intp)
        with nogil:
            self._count()
        n_values = self.start[self.n_features + 1]
        self.place = np.empty(n_values, dtype=np.int32)
        self.value = np.empty(n_values)
        with nogil:
            self._fill()
        self.curvature, self.moved = np.empty((2, self.n_samples))
        self.second = np.empty(self.n_features)

    cdef void _count(self) noexcept nogil:
        """Find where the values of each feature start, one place further on."""
        cdef Sample x
        cdef Py_ssize_t i, e, j
        for i in range(self.n_samples):
            x = self.data.get(self.samples[i])
            for e in range(x.n):
                self.start[x.indices[e] + 2] += 1
        for j in range(1, self.n_features + 1):
            self.start[j + 1] += self.start[j]

    cdef void _fill(self) noexcept nogil:
        """Write the values, which moves each start to where it belongs."""
        cdef Sample x
        cdef Py_ssize_t i, e, j, at
        for i in range(self.n_samples):
            x = self.data.get(self.samples[i])
            for e in range(x.n):
                j = x.indices[e]
                at = self.start[j + 1]
                self.place[at] = <int32_t> i
                self.value[at] = stored(&x, e, self.data.is_float32) * self.inverse[j]
                self.start[j + 1] += 1

    cdef void find_goal(self) noexcept nogil:
        cdef double decrease, first = 0.0
        cdef int sweep
        self._begin()
        for sweep in range(MAX_SWEEPS):
            decrease = self._sweep()
            if sweep == 0:
                first = decrease
            if decrease <= SWEEP_TOL * first or self.is_late():
                return

    cdef void _begin(self) noexcept nogil:
        """Choose the working set, and find the second derivatives of the model."""
        cdef Py_ssize_t i, j, k, e
        cdef double largest = 0.0
        self.choose_working_set()
        memcpy(&self.goal[0], &self.weights[0], (self.n_features + 1) * sizeof(double))
        for i in range(self.n_samples):
            self.curvature[i] = self.cost[i] * hinge_curvature(self.margin[i])
            self.moved[i] = 0.0
            largest += self.curvature[i]    # of the intercept
        for k in range(self.size - 1):
            j = self.working[k]
            self.second[j] = 0.0
            for e in range(self.start[j], self.start[j + 1]):
                self.second[j] += self.curvature[self.place[e]] * self.value[e] * self.value[e]
            largest = fmax(largest, self.second[j])
        # Else, by rounding, the model might fall without end in some direction.
        self.least = 1e-12 * largest if largest > 0.0 else 1.0

    cdef double _sweep(self) noexcept nogil:
        """One Newton step per weight; returns how much the model has about fallen by."""
        cdef Py_ssize_t k, j, e, i
        cdef double h, g, goal, step, decrease = 0.0
        for k in range(self.size - 1):
            j = self.working[k]
            h, g = self.second[j] + self.least, self.gradient[j]
            for e in range(self.start[j], self.start[j + 1]):
                i = self.place[e]
                g += self.curvature[i] * self.moved[i] * self.value[e]
            goal = minimiser(self.goal[j], g, h, self.is_l1)
            step = goal - self.goal[j]
            if step == 0.0:
                continue
            self.goal[j] = goal
            for e in range(self.start[j], self.start[j + 1]):
                self.moved[self.place[e]] += step * self.value[e]
            decrease += h * step * step
        return decrease + self._move_intercept()

    cdef double _move_intercept(self) noexcept nogil:
        cdef double h = self.least, g = self.gradient[self.n_features], step
        cdef Py_ssize_t i
        for i in range(self.n_samples):
            h += self.curvature[i]
            g += self.curvature[i] * self.moved[i]
        step = -g / h
        self.goal[self.n_features] += step
        for i in range(self.n_samples):
            self.moved[i] += step
        return h * step * step


cdef class ConjugateGradients(NewtonFit):
    """Steps by products with second derivatives; the penalty is w^2 / 2.

    For nodes in which all of many features have weights. As in TRON (Lin, Weng & Keerthi 2008),
    whose trust region is a line search here. A product with the second derivatives costs two passes
    over the samples, whatever the number of features.
    """

    cdef int32_t[::1] curved        # samples where the loss has a second derivative
    cdef double[::1] curvature      # that derivative, times the cost
    cdef Py_ssize_t n_curved
    cdef double[::1] slope          # gradient of penalty and model at the goal
    cdef double[::1] search         # direction of the next conjugate step
    cdef double[::1] product        # of the second derivatives with that

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.curved = np.empty(self.n_samples, dtype=np.int32)
        self.curvature = np.empty(self.n_samples)
        self.slope, self.search, self.product = np.empty((3, self.n_features + 1))

    cdef void find_goal(self) noexcept nogil:
        cdef Py_ssize_t i, j, p = self.n_features
        cdef double length, before, bend, c, violation = 0.0, left
        cdef int _product
        self.n_curved = 0
        for i in range(self.n_samples):
            c = self.cost[i] * hinge_curvature(self.margin[i])
            if c > 0.0:
                self.curved[self.n_curved], self.curvature[self.n_curved] = self.samples[i], c
                self.n_curved += 1
        for j in range(p + 1):
            self.goal[j] = self.weights[j]
            self.slope[j] = self.gradient[j] + (self.weights[j] if j < p else 0.0)
            self.search[j] = -self.slope[j]
            violation += fabs(self.slope[j])
        length = self._dot(self.slope, self.slope)
        for _product in range(MAX_PRODUCTS):
            self._multiply()
            bend = self._dot(self.search, self.product)
            if not bend > 0.0 or self.is_late():
                return
            self._axpy(length / bend, self.search, self.goal)
            self._axpy(length / bend, self.product, self.slope)
            before, length, left = length, self._dot(self.slope, self.slope), 0.0
            for j in range(p + 1):
                left += fabs(self.slope[j])
                self.search[j] = length / before * self.search[j] - self.slope[j]
            if left <= PRODUCT_TOL * violation:
                return

    cdef void _multiply(self) noexcept nogil:
        """Second derivatives of F, the sum of c loss'' z z' and the penalty's, times search."""
        cdef Py_ssize_t i, j, p = self.n_features
        cdef Sample x
        memset(&self.product[0], 0, (p + 1) * sizeof(double))
        self.to_raw(&self.search[0])
        for i in range(self.n_curved):
            x = self.data.get(self.curved[i])
            self.add(self.curvature[i] * self.project(&x), &x, &self.product[0])
        self.to_scaled(&self.product[0])
        for j in range(p):
            self.product[j] += self.search[j]

    cdef double _dot(self, const double[::1] a, const double[::1] b) noexcept nogil:
        return ngdt_dense_f64_f64(&a[0], NULL, self.n_features + 1, &b[0])

    cdef void _axpy(self, double t, const double[::1] a, double[::1] b) noexcept nogil:
        ngdt_add_f64_f64(t, &a[0], NULL, self.n_features + 1, &b[0])
