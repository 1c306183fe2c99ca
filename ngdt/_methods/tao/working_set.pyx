"""Newton steps that move some of the features: those that are used or should be."""

import numpy as np

from libc.math cimport fmax
from libc.stdint cimport int32_t

from ngdt._methods.tao.newton cimport NewtonFit

cdef enum:
    # A model of these is a matrix of this size, squared. And with more of them at a time, a fit
    # that ends early has many small weights, and was up to three points less accurate.
    MAX_WORKING_FEATURES = 1024


cdef class WorkingSetFit(NewtonFit):
    """`NewtonFit` with a choice of features for the next step."""

    def __init__(self, F, samples, target, cost, weights, intercept):
        super().__init__(F, samples, target, cost, weights, intercept)
        self.working = np.empty(
            min(self.n_features, <Py_ssize_t> MAX_WORKING_FEATURES) + 1, dtype=np.int32)

    cdef void choose_working_set(self) noexcept nogil:
        """All features that are used or violate optimality; if too many, those that do most."""
        cdef int most = <int> self.working.shape[0] - 1
        cdef double least = -1.0, more = (
            self.violation(&self.weights[0], &self.gradient[0]) / (16.0 * self.n_features))
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
        cdef double violation = self.F.penalty.violation(self.weights[j], self.gradient[j])
        return violation > fmax(least, 0.0) or (least < 0.0 and self.weights[j] != 0.0)

    cdef Py_ssize_t _count_above(self, double least) noexcept nogil:
        cdef Py_ssize_t j, count = 0
        for j in range(self.n_features):
            count += self._is_above(j, least)
        return count
