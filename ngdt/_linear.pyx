"""The classifier of one node: linear, weighted, and with few or small weights.

    F(w, b) = sum_i c_i loss(y_i (w . z_i + b)) + penalty(w),    y_i = -1 or 1,

where z = (x - center) / scale, and the intercept b is free. Proximal Newton, as in newGLMNET (Yuan,
Ho & Lin 2012): coordinate descent minimises penalty plus quadratic model of the loss over a working
set of features, and a line search takes as much of that step as lowers F. Unlike LIBLINEAR, it
starts from any weights, so that a node that hardly changes costs hardly anything.
"""

import numpy as np

from libc.math cimport exp, fabs, fmax, log1p, sqrt
from libc.stdint cimport int32_t
from libc.string cimport memset
from scipy.linalg.cython_blas cimport dsyrk

from ngdt._rows cimport Row, Rows

cdef extern from "dot.h" nogil:
    void ngdt_add_f32_f64(
        double a, const void *x, const int32_t *indices, Py_ssize_t n, double *w) noexcept
    void ngdt_add_f64_f64(
        double a, const void *x, const int32_t *indices, Py_ssize_t n, double *w) noexcept

cdef enum:
    CHUNK = 256         # samples that enter the quadratic model at a time
    WIDEST = 1024       # features of a working set: the model is a matrix of its square

cdef int MOST_SWEEPS = 20, MOST_HALVINGS = 40
cdef double SUFFICIENT = 0.01       # share of the predicted decrease that a step must bring
cdef double SETTLED = 1e-2          # share of the first sweep's decrease that ends the sweeps


cdef class Surrogate:
    """Loss of a margin y f, with its first and second derivatives."""

    cdef double value(self, double margin) noexcept nogil:
        return 0.0

    cdef double slope(self, double margin) noexcept nogil:
        return 0.0

    cdef double curvature(self, double margin) noexcept nogil:
        return 0.0


cdef class SquaredHinge(Surrogate):
    """max(0, 1 - m)^2."""

    cdef double value(self, double margin) noexcept nogil:
        return (1.0 - margin) * (1.0 - margin) if margin < 1.0 else 0.0

    cdef double slope(self, double margin) noexcept nogil:
        return 2.0 * (margin - 1.0) if margin < 1.0 else 0.0

    cdef double curvature(self, double margin) noexcept nogil:
        return 2.0 if margin < 1.0 else 0.0


cdef class Logistic(Surrogate):
    """log(1 + exp(-m))."""

    cdef double value(self, double margin) noexcept nogil:
        return log1p(exp(-margin)) if margin > 0.0 else log1p(exp(margin)) - margin

    cdef double slope(self, double margin) noexcept nogil:
        return -1.0 / (1.0 + exp(margin))

    cdef double curvature(self, double margin) noexcept nogil:
        cdef double tail = exp(-fabs(margin))
        return tail / ((1.0 + tail) * (1.0 + tail))


cdef class Penalty:
    """A function of each weight by itself, homogeneous of some degree."""

    cdef readonly int degree

    cdef double value(self, double w) noexcept nogil:
        return 0.0

    cdef double violation(self, double w, double gradient) noexcept nogil:
        """How far the gradient of the loss is from what is optimal at this weight."""
        return 0.0

    cdef double minimiser(self, double w, double gradient, double curvature) noexcept nogil:
        """Best weight where the loss has this gradient at w, and this curvature."""
        return w


cdef class L1(Penalty):
    """|w|."""

    def __cinit__(self):
        self.degree = 1

    cdef double value(self, double w) noexcept nogil:
        return fabs(w)

    cdef double violation(self, double w, double gradient) noexcept nogil:
        if w > 0.0:
            return fabs(gradient + 1.0)
        if w < 0.0:
            return fabs(gradient - 1.0)
        return fabs(gradient) - 1.0 if fabs(gradient) > 1.0 else 0.0

    cdef double minimiser(self, double w, double gradient, double curvature) noexcept nogil:
        # Not as w - (gradient +- 1) / curvature, in which a large w would lose a small step.
        if gradient + 1.0 < curvature * w:
            return w - (gradient + 1.0) / curvature
        if gradient - 1.0 > curvature * w:
            return w - (gradient - 1.0) / curvature
        return 0.0


cdef class L2(Penalty):
    """w^2 / 2."""

    def __cinit__(self):
        self.degree = 2

    cdef double value(self, double w) noexcept nogil:
        return 0.5 * w * w

    cdef double violation(self, double w, double gradient) noexcept nogil:
        return fabs(gradient + w)

    cdef double minimiser(self, double w, double gradient, double curvature) noexcept nogil:
        return w - (gradient + w) / (curvature + 1.0)


SURROGATES = {"squared_hinge": SquaredHinge, "logistic": Logistic}
PENALTIES = {"l1": L1, "l2": L2}


cdef class LinearSolver:
    """Fits linear classifiers to subsets of the same rows.

    Parameters
    ----------
    rows : Rows
    scaling : Scaling
        Of the features that are penalised.
    loss : {"squared_hinge", "logistic"}
    penalty : {"l1", "l2"}
    tol : float
        A fit ends where the violation of the optimality conditions is this share of what it is at
        weights and intercept of zero, times the share of the costs that the lighter class has.
    max_steps : int
        Newton steps; without any, a fit multiplies what it is given, and says what F is there.
    """

    cdef Rows rows
    cdef const double[::1] center
    cdef const double[::1] inverse
    cdef Surrogate loss
    cdef Penalty penalty
    cdef double tol
    cdef int max_steps

    def __init__(self, Rows rows, scaling, loss="squared_hinge", penalty="l1", tol=1e-2,
                 max_steps=100):
        self.rows = rows
        self.center = scaling.center
        self.inverse = 1.0 / scaling.scale
        self.loss = SURROGATES[loss]()
        self.penalty = PENALTIES[penalty]()
        self.tol = tol
        self.max_steps = max_steps

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
        cdef _Fit fit = _Fit(self, samples, target, cost, weights, intercept)
        with nogil:
            fit.run()
        return fit.weights.base, fit.intercept, fit.objective()


cdef class _Fit:
    """One run of the solver: its state and its memory."""

    cdef LinearSolver solver
    cdef const int32_t[::1] samples
    cdef const double[::1] target
    cdef const double[::1] cost
    cdef Py_ssize_t n
    cdef Py_ssize_t n_features
    cdef double[::1] weights
    cdef double intercept
    cdef double[::1] margin
    cdef double[::1] change         # of the margins, along the step
    cdef double[::1] raw            # weights of the raw features
    cdef double[::1] gradient       # of the loss, the intercept's last
    cdef double[::1] at_zero        # the same at weights of zero
    cdef int32_t[::1] working       # features of the working set
    cdef int32_t[::1] place         # where each of them is, else -1
    cdef int size                   # of the working set, and the intercept
    cdef double[::1] chunk
    cdef double[::1] model          # second derivatives of the loss in the working set
    cdef double[::1] goal           # where the step leads
    cdef double[::1] slope          # gradient of the quadratic model after the step

    def __init__(self, solver, samples, target, cost, weights, intercept):
        self.solver = solver
        self.samples, self.target, self.cost = samples, target, cost
        self.n, self.n_features = len(samples), len(weights)
        self.weights, self.intercept = np.array(weights), intercept
        self.margin, self.change = np.empty(self.n), np.empty(self.n)
        self.raw = np.empty(self.n_features)
        self.gradient = np.empty(self.n_features + 1)
        self.at_zero = np.empty(self.n_features + 1)
        self.place = np.full(self.n_features, -1, dtype=np.int32)
        widest = min(self.n_features, <Py_ssize_t> WIDEST) + 1
        self.working = np.empty(widest, dtype=np.int32)
        self.chunk, self.model = np.empty(CHUNK * widest), np.empty(widest * widest)
        self.goal, self.slope = np.empty(widest), np.empty(widest)

    cdef void run(self) noexcept nogil:
        cdef int step
        cdef double enough
        self._margins(&self.weights[0], self.intercept, &self.margin[0])
        self._scale()
        for step in range(self.solver.max_steps):
            self._find_gradients(step == 0)
            if step == 0:
                enough = self.solver.tol * self._share_of_minority() * self._violation_at_zero()
            if self._violation() <= enough:
                return
            self._choose_working_set()
            self._make_model()
            self._minimise_model()
            if not self._search_line():
                return

    cdef double objective(self) noexcept nogil:
        cdef double total = self._loss_at(0.0)
        cdef Py_ssize_t j
        for j in range(self.n_features):
            total += self.solver.penalty.value(self.weights[j])
        return total

    cdef double _loss_at(self, double t) noexcept nogil:
        """The loss after t steps."""
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(self.n):
            total += self.cost[i] * self.solver.loss.value(self.margin[i] + t * self.change[i])
        return total

    cdef void _margins(self, const double *w, double intercept, double *out) noexcept nogil:
        """y (w . z + intercept) of all samples."""
        cdef Py_ssize_t i, j
        cdef Row row
        for j in range(self.n_features):
            self.raw[j] = w[j] * self.solver.inverse[j]
            intercept -= self.raw[j] * self.solver.center[j]
        for i in range(self.n):
            row = self.solver.rows.get(self.samples[i])
            out[i] = self.target[i] * (
                row.dot(row.values, row.indices, row.n, &self.raw[0]) + intercept)

    cdef void _scale(self) noexcept nogil:
        """Multiply weights and intercept with what lowers F most: bisection on its slope.

        Not by less than two: the steps that follow do that as well.
        """
        cdef double low = 0.0, high = 2.0, middle
        cdef Py_ssize_t i, _step
        cdef bint is_zero = True
        for i in range(self.n):
            self.change[i] = 0.0
            is_zero = is_zero and self.margin[i] == 0.0
        if is_zero or self._slope_at_scale(0.5) < 0.0 < self._slope_at_scale(2.0):
            return
        while self._slope_at_scale(high) < 0.0 and high < 1e30:
            low, high = high, 4.0 * high
        for _step in range(60):
            if high - low <= 1e-3 * low:
                break
            middle = sqrt(low * high) if low > 0.0 else 0.125 * high
            if self._slope_at_scale(middle) < 0.0:
                low = middle
            else:
                high = middle
            if high < 1e-30:
                high = low = 0.0
        for i in range(self.n_features):
            self.weights[i] *= high
        self.intercept *= high
        for i in range(self.n):
            self.margin[i] *= high

    cdef double _slope_at_scale(self, double scale) noexcept nogil:
        cdef double slope = 0.0
        cdef Py_ssize_t i, j
        for j in range(self.n_features):
            slope += self.solver.penalty.value(self.weights[j])
        if self.solver.penalty.degree == 2:
            slope *= 2.0 * scale
        for i in range(self.n):
            slope += self.cost[i] * self.margin[i] * self.solver.loss.slope(
                scale * self.margin[i])
        return slope

    cdef void _find_gradients(self, bint also_at_zero) noexcept nogil:
        """Gradients of the loss here and, if asked for, at weights of zero."""
        cdef Py_ssize_t i, p = self.n_features
        cdef double r
        cdef Row row
        memset(&self.gradient[0], 0, (p + 1) * sizeof(double))
        if also_at_zero:
            memset(&self.at_zero[0], 0, (p + 1) * sizeof(double))
        for i in range(self.n):
            row = self.solver.rows.get(self.samples[i])
            r = self.cost[i] * self.target[i] * self.solver.loss.slope(self.margin[i])
            self._add(r, &row, &self.gradient[0])
            if also_at_zero:
                r = self.cost[i] * self.target[i] * self.solver.loss.slope(0.0)
                self._add(r, &row, &self.at_zero[0])
        self._to_scaled(&self.gradient[0])
        if also_at_zero:
            self._to_scaled(&self.at_zero[0])

    cdef inline void _add(self, double r, const Row *row, double *gradient) noexcept nogil:
        if r == 0.0:
            return
        gradient[self.n_features] += r
        if self.solver.rows.is_float32:
            ngdt_add_f32_f64(r, row.values, row.indices, row.n, gradient)
        else:
            ngdt_add_f64_f64(r, row.values, row.indices, row.n, gradient)

    cdef void _to_scaled(self, double *gradient) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.n_features):
            gradient[j] -= gradient[self.n_features] * self.solver.center[j]
            gradient[j] *= self.solver.inverse[j]

    cdef double _violation(self) noexcept nogil:
        cdef double total = fabs(self.gradient[self.n_features])
        cdef Py_ssize_t j
        for j in range(self.n_features):
            total += self.solver.penalty.violation(self.weights[j], self.gradient[j])
        return total

    cdef double _violation_at_zero(self) noexcept nogil:
        cdef double total = fabs(self.at_zero[self.n_features])
        cdef Py_ssize_t j
        for j in range(self.n_features):
            total += self.solver.penalty.violation(0.0, self.at_zero[j])
        return total

    cdef double _share_of_minority(self) noexcept nogil:
        # Where few samples stand against many, little is left of the violation at zero as soon as
        # the intercept says so.
        cdef double right = 0.0, total = 0.0
        cdef Py_ssize_t i
        for i in range(self.n):
            total += self.cost[i]
            if self.target[i] > 0.0:
                right += self.cost[i]
        return min(right, total - right) / total

    cdef void _choose_working_set(self) noexcept nogil:
        """All features that are used or violate optimality; if too many, those that do most."""
        cdef int most = <int> self.working.shape[0] - 1
        cdef double least = -1.0, more = self._violation() / (16.0 * self.n_features)
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
        self.working[self.size] = -1        # the intercept
        self.size += 1

    cdef bint _is_above(self, Py_ssize_t j, double least) noexcept nogil:
        cdef double violation = self.solver.penalty.violation(self.weights[j], self.gradient[j])
        return violation > fmax(least, 0.0) or (least < 0.0 and self.weights[j] != 0.0)

    cdef Py_ssize_t _count_above(self, double least) noexcept nogil:
        cdef Py_ssize_t j, count = 0
        for j in range(self.n_features):
            count += self._is_above(j, least)
        return count

    cdef void _make_model(self) noexcept nogil:
        """Second derivatives of the loss: the sum of c loss'' z z' over the samples."""
        cdef int a = self.size, j, k, n = 0
        cdef Py_ssize_t i
        cdef double c, largest = 0.0
        for k in range(a - 1):
            self.place[self.working[k]] = k
        memset(&self.model[0], 0, <Py_ssize_t> a * a * sizeof(double))
        for i in range(self.n):
            c = self.cost[i] * self.solver.loss.curvature(self.margin[i])
            if c > 0.0:
                self._gather(self.samples[i], sqrt(c), &self.chunk[n * a])
                n += 1
            if n == CHUNK:
                self._add_chunk(n)
                n = 0
        if n:
            self._add_chunk(n)
        for k in range(a - 1):
            self.place[self.working[k]] = -1
        for k in range(a):
            for j in range(k):
                self.model[k * a + j] = self.model[j * a + k]
            largest = max(largest, self.model[k * a + k])
        # Rounding must not make a direction look as if the loss fell for ever.
        for k in range(a):
            self.model[k * a + k] += 1e-12 * largest if largest > 0.0 else 1.0

    cdef void _gather(self, Py_ssize_t sample, double factor, double *out) noexcept nogil:
        """Write the working set's features of a sample, scaled, and the constant feature."""
        cdef Row row = self.solver.rows.get(sample)
        cdef bint is_float32 = self.solver.rows.is_float32
        cdef int k, a = self.size
        cdef Py_ssize_t e, j
        cdef double x
        if row.indices == NULL:
            for k in range(a - 1):
                j = self.working[k]
                x = (<const float *> row.values)[j] if is_float32 else (
                    <const double *> row.values)[j]
                out[k] = factor * (x - self.solver.center[j]) * self.solver.inverse[j]
        else:
            memset(out, 0, a * sizeof(double))
            for e in range(row.n):
                j = row.indices[e]
                k = self.place[j]
                if k >= 0:
                    x = (<const float *> row.values)[e] if is_float32 else (
                        <const double *> row.values)[e]
                    out[k] += factor * x * self.solver.inverse[j]
        out[a - 1] = factor

    cdef void _add_chunk(self, int n) noexcept nogil:
        # Fortran sees the transpose: it fills what is here the upper triangle.
        cdef double one = 1.0
        dsyrk(b"L", b"N", &self.size, &n, &one, &self.chunk[0], &self.size, &one, &self.model[0],
              &self.size)

    cdef void _minimise_model(self) noexcept nogil:
        """Coordinate descent on penalty plus model, one Newton step per weight."""
        cdef int a = self.size, k, sweep
        cdef double h, goal, moved, decrease, first = 0.0
        cdef const double *row
        for k in range(a - 1):
            self.goal[k] = self.weights[self.working[k]]
            self.slope[k] = self.gradient[self.working[k]]
        self.goal[a - 1] = self.intercept
        self.slope[a - 1] = self.gradient[self.n_features]
        for sweep in range(MOST_SWEEPS):
            decrease = 0.0
            for k in range(a):
                row = &self.model[k * a]
                h = row[k]
                if k < a - 1:
                    goal = self.solver.penalty.minimiser(self.goal[k], self.slope[k], h)
                else:
                    goal = self.goal[k] - self.slope[k] / h
                moved = goal - self.goal[k]
                if moved == 0.0:
                    continue
                self.goal[k] = goal
                ngdt_add_f64_f64(moved, row, NULL, a, &self.slope[0])
                decrease += h * moved * moved
            if sweep == 0:
                first = decrease
            if decrease <= SETTLED * first:
                return

    cdef bint _search_line(self) noexcept nogil:
        """Go along the step, half of it and so on, until F falls enough; False if it does not."""
        cdef int a = self.size, k, _halving
        cdef Py_ssize_t i, j
        cdef double t = 1.0, here = self._loss_at(0.0), there, predicted, step, w
        cdef double *direction = &self.at_zero[0]       # no longer needed
        memset(direction, 0, self.n_features * sizeof(double))
        step = self.goal[a - 1] - self.intercept
        predicted = self.gradient[self.n_features] * step
        for k in range(a - 1):
            j = self.working[k]
            w = self.weights[j]
            direction[j] = self.goal[k] - w
            here += self.solver.penalty.value(w)
            predicted += self.gradient[j] * direction[j]
            predicted += self.solver.penalty.value(self.goal[k]) - self.solver.penalty.value(w)
        if not predicted < 0.0:
            return False
        self._margins(direction, step, &self.change[0])
        for _halving in range(MOST_HALVINGS):
            there = self._loss_at(t)
            for k in range(a - 1):
                j = self.working[k]
                there += self.solver.penalty.value(self.weights[j] + t * direction[j])
            if there - here <= SUFFICIENT * t * predicted:
                break
            t *= 0.5
        else:
            return False
        for k in range(a - 1):
            j = self.working[k]
            # Not the sum where the step is whole: what the model makes zero is exactly zero.
            self.weights[j] = self.goal[k] if t == 1.0 else self.weights[j] + t * direction[j]
        self.intercept += t * step
        for i in range(self.n):
            self.margin[i] += t * self.change[i]
            self.change[i] = 0.0
        return True
