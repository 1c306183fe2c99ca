"""Objective of the linear classifier of a node, and Newton's method for it.

    F(w, b) = sum_i c_i max(0, 1 - y_i (w . z_i + b))^2 + penalty(w),    y_i = -1 or 1,

where z = (x - center) / scale, and the intercept b is free. The samples i, their costs c and labels
y belong to a node (`NewtonFit`); the rest is common to all nodes, and constant: threads share it.

LIBLINEAR starts from zero. From weights that are good already, few steps are left to do. Each step
costs a few passes over the samples of the node, besides what the subclass that finds it does: the
gradient, the change of the margins, and the losses along the line.

Weights are float64, of scaled features, with the intercept last; margins are kept per sample. All
memory belongs to one fit, which one thread runs, so that several nodes can be fitted at a time.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t
from libc.string cimport memset

from ngdt._core.samples cimport Sample, ngdt_add_f64_f64

cdef extern from "dot.h" nogil:
    void ngdt_add_f32_f64(
        double a, const void *x, const int32_t *indices, Py_ssize_t n, double *w) noexcept

cdef int MAX_HALVINGS = 40
cdef double SUFFICIENT_DECREASE = 0.01      # share of the predicted decrease that a step must bring


cdef class NewtonFit:
    """One fit: its state and its memory.

    Subclasses override ``find_goal()``: write to `goal` what minimises penalty plus quadratic model
    of the loss at `weights`, where the loss has this `gradient`, or comes close to that. They may
    return as soon as ``is_late()``, for the step is dropped then.

    Parameters
    ----------
    data : Samples
    center, inverse : ndarray of float64, shape (n_features,)
        Of the features, and of their scale.
    is_l1 : bool
        Whether the penalty is |w|, or w^2 / 2.
    deadline : Deadline
    samples : ndarray of int32, shape (n_samples,)
    target, cost : ndarray of float64, shape (n_samples,)
    weights : ndarray of float64, shape (n_features,)
    intercept : float
    """

    def __init__(self, data, center, inverse, is_l1, deadline, samples, target, cost, weights,
                 intercept):
        self.data, self.center, self.inverse, self.is_l1 = data, center, inverse, is_l1
        self.deadline, self.is_timed = deadline, deadline.is_set
        self.samples, self.target, self.cost = samples, target, cost
        self.n_samples, self.n_features = len(samples), len(weights)
        self.weights = np.concatenate([weights, [intercept]])
        self.goal, self.gradient, self.direction, self.raw = (
            np.empty((4, self.n_features + 1)))
        self.margin, self.change = np.empty(self.n_samples), np.zeros(self.n_samples)

    cdef void run(self, double tol, int max_steps) noexcept nogil:
        """Multiply the weights with what lowers F most, then take steps."""
        cdef double enough
        cdef int _step
        self._find_margins(&self.weights[0], &self.margin[0])
        self._scale()
        enough = tol * self._violation_at_zero()
        for _step in range(max_steps):
            self._find_gradient(self.margin)
            if self.violation(&self.weights[0]) <= enough:
                return
            self.find_goal()
            if self.is_late() or not self._search_line():
                return

    cdef void find_goal(self) noexcept nogil:
        pass

    cdef bint is_late(self) noexcept nogil:
        """Tell whether the deadline has passed, or Ctrl-C has been pressed."""
        if not self.is_timed:
            return False
        with gil:
            # This is the first Python code to run after Ctrl-C, which raises here.
            try:
                return self.interruption is not None or not self.deadline.fits()
            except BaseException as error:
                self.interruption = error
                return True

    cdef double _value_at(self, double t) noexcept nogil:
        """F after t steps."""
        cdef double loss = 0.0, penalty = 0.0
        cdef Py_ssize_t i, j
        for i in range(self.n_samples):
            loss += self.cost[i] * hinge(self.margin[i] + t * self.change[i])
        for j in range(self.n_features):
            penalty += penalty_of(self.weights[j] + t * self.direction[j], self.is_l1)
        return loss + penalty

    cdef void to_raw(self, const double *w) noexcept nogil:
        """Write what w, and its intercept, are for raw features."""
        cdef Py_ssize_t j, p = self.n_features
        self.raw[p] = w[p]
        for j in range(p):
            self.raw[j] = w[j] * self.inverse[j]
            self.raw[p] -= self.raw[j] * self.center[j]

    cdef double project(self, const Sample *x) noexcept nogil:
        """w . z + b of a sample, by what `to_raw` wrote."""
        return x.dot(x.values, x.indices, x.n, &self.raw[0]) + self.raw[self.n_features]

    cdef void add(self, double r, const Sample *x, double *gradient) noexcept nogil:
        """Add r times the sample and the constant feature; `to_scaled` has to follow."""
        if r == 0.0:
            return
        gradient[self.n_features] += r
        if self.data.is_float32:
            ngdt_add_f32_f64(r, x.values, x.indices, x.n, gradient)
        else:
            ngdt_add_f64_f64(r, x.values, x.indices, x.n, gradient)

    cdef void to_scaled(self, double *gradient) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.n_features):
            gradient[j] -= gradient[self.n_features] * self.center[j]
            gradient[j] *= self.inverse[j]

    cdef void _find_margins(self, const double *w, double *out) noexcept nogil:
        """y (w . z + b) of all samples."""
        cdef Py_ssize_t i
        cdef Sample x
        self.to_raw(w)
        for i in range(self.n_samples):
            x = self.data.get(self.samples[i])
            out[i] = self.target[i] * self.project(&x)

    cdef void _find_gradient(self, const double[::1] margin) noexcept nogil:
        """Write the gradient of the loss where the samples have these margins."""
        cdef Py_ssize_t i
        cdef Sample x
        memset(&self.gradient[0], 0, (self.n_features + 1) * sizeof(double))
        for i in range(self.n_samples):
            x = self.data.get(self.samples[i])
            self.add(
                self.cost[i] * self.target[i] * hinge_slope(margin[i]), &x, &self.gradient[0])
        self.to_scaled(&self.gradient[0])

    cdef void _scale(self) noexcept nogil:
        """Multiply weights and intercept with what lowers F most: bisection on its slope.

        Not by less than two: the steps that follow do that as well.
        """
        cdef double low = 0.0, high = 2.0, middle
        cdef Py_ssize_t i, _step
        cdef bint is_zero = True
        for i in range(self.n_samples):
            is_zero = is_zero and self.margin[i] == 0.0
        if is_zero or self._slope_at_scale(0.5) < 0.0 < self._slope_at_scale(2.0):
            return
        while self._slope_at_scale(high) < 0.0 and high < 1e30:
            low, high = high, 4.0 * high
        for _step in range(60):
            if high - low <= 1e-3 * low:
                break
            # The scale may be of any size: so the range of its logarithm is halved.
            middle = sqrt(low * high) if low > 0.0 else 0.125 * high
            if self._slope_at_scale(middle) < 0.0:
                low = middle
            else:
                high = middle
            if high < 1e-30:
                high = low = 0.0
        for i in range(self.n_features + 1):
            self.weights[i] *= high
        for i in range(self.n_samples):
            self.margin[i] *= high

    cdef double _slope_at_scale(self, double scale) noexcept nogil:
        cdef double slope = 0.0
        cdef Py_ssize_t i, j
        for j in range(self.n_features):
            slope += penalty_of(self.weights[j], self.is_l1)
        if not self.is_l1:
            slope *= 2.0 * scale
        for i in range(self.n_samples):
            slope += self.cost[i] * self.margin[i] * hinge_slope(scale * self.margin[i])
        return slope

    cdef double violation(self, const double *w) noexcept nogil:
        """Distance of w from optimal, where the loss has the present gradient."""
        cdef double total = fabs(self.gradient[self.n_features])
        cdef Py_ssize_t j
        for j in range(self.n_features):
            total += violation_of(w[j], self.gradient[j], self.is_l1)
        return total

    cdef double _violation_at_zero(self) noexcept nogil:
        """Distance of zero from optimal, times the share of the costs that the lighter class has.

        Where few samples oppose many, the intercept alone removes most of the distance.
        """
        cdef double right = 0.0, total = 0.0
        cdef Py_ssize_t i
        for i in range(self.n_samples):
            total += self.cost[i]
            if self.target[i] > 0.0:
                right += self.cost[i]
        # There is no step yet: direction and change are free, and the change is zero.
        memset(&self.direction[0], 0, (self.n_features + 1) * sizeof(double))
        self._find_gradient(self.change)
        return min(right, total - right) / total * self.violation(&self.direction[0])

    cdef bint _search_line(self) noexcept nogil:
        """Try the step, half of it and so on, until F falls enough; False if it never does."""
        cdef Py_ssize_t i, j, _halving, p = self.n_features
        cdef double t = 1.0, predicted = 0.0, here
        for j in range(p + 1):
            self.direction[j] = self.goal[j] - self.weights[j]
            predicted += self.gradient[j] * self.direction[j]
            if j < p:
                predicted += penalty_of(self.goal[j], self.is_l1)
                predicted -= penalty_of(self.weights[j], self.is_l1)
        if not predicted < 0.0:
            return False
        here = self._value_at(0.0)
        self._find_margins(&self.direction[0], &self.change[0])
        for _halving in range(MAX_HALVINGS):
            if self._value_at(t) - here <= SUFFICIENT_DECREASE * t * predicted:
                break
            t *= 0.5
        else:
            return False
        for j in range(p + 1):
            # Not the sum where the step is whole: what the model makes zero is exactly zero.
            self.weights[j] = self.goal[j] if t == 1.0 else self.weights[j] + t * self.direction[j]
        for i in range(self.n_samples):
            self.margin[i] += t * self.change[i]
            self.change[i] = 0.0
        return True
