"""Newton steps for sparse data with many features: coordinate descent by the columns of a node.

The quadratic model is not written out. A change of a weight is added to the scores of the samples
that have the feature, so that a sweep costs the stored values of the features that it goes through.
"""

import numpy as np

from libc.math cimport fmax
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ngdt._core.samples cimport Sample
from ngdt._methods.tao.working_set cimport WorkingSetFit

cdef int MAX_SWEEPS = 20
cdef double SWEEP_TOL = 1e-2    # share of the first sweep's decrease that ends the sweeps


cdef class SparseDescent(WorkingSetFit):
    """Steps within the working set, by columns."""

    # Stored values by feature: the first of each, the place of its sample, the scaled value.
    cdef Py_ssize_t[::1] start
    cdef int32_t[::1] place
    cdef double[::1] value
    cdef double[::1] curvature      # per sample: of its loss, times its cost
    cdef double[::1] moved          # per sample: change of its score so far
    cdef double[::1] second         # per feature: second derivative of the model
    cdef double least               # added to second derivatives

    def __init__(self, F, samples, target, cost, weights, intercept):
        super().__init__(F, samples, target, cost, weights, intercept)
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
        """Where the values of each feature start, one place further on."""
        cdef Sample x
        cdef Py_ssize_t i, e, j
        for i in range(self.n_samples):
            x = self.F.data.get(self.samples[i])
            for e in range(x.n):
                self.start[x.indices[e] + 2] += 1
        for j in range(1, self.n_features + 1):
            self.start[j + 1] += self.start[j]

    cdef void _fill(self) noexcept nogil:
        """Write the values, which moves each start to where it belongs."""
        cdef Sample x
        cdef Py_ssize_t i, e, j, at
        cdef double value
        for i in range(self.n_samples):
            x = self.F.data.get(self.samples[i])
            for e in range(x.n):
                j = x.indices[e]
                value = (<const float *> x.values)[e] if self.F.data.is_float32 else (
                    <const double *> x.values)[e]
                at = self.start[j + 1]
                self.place[at], self.value[at] = <int32_t> i, value * self.F.inverse[j]
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
            self.curvature[i] = self.cost[i] * self.F.loss.curvature(self.margin[i])
            self.moved[i] = 0.0
            largest += self.curvature[i]    # that of the intercept
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
            goal = self.F.penalty.minimiser(self.goal[j], g, h)
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
