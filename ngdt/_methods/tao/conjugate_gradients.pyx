"""Newton steps by conjugate gradients, for nodes in which all of many features have weights.

As in TRON (Lin, Weng & Keerthi 2008), whose trust region is a line search here. A product with the
second derivatives costs two passes over the samples, whatever the number of features.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t
from libc.string cimport memset

from ngdt._methods.tao.newton cimport NewtonFit
from ngdt._core.samples cimport Sample

cdef extern from "dot.h" nogil:
    double ngdt_dense_f64_f64(
        const void *x, const int32_t *indices, Py_ssize_t n, const void *w) noexcept
    void ngdt_add_f64_f64(
        double a, const void *x, const int32_t *indices, Py_ssize_t n, double *w) noexcept

cdef int MAX_PRODUCTS = 250
cdef double PRODUCT_TOL = 0.05  # share of the violation that ends the products


cdef class ConjugateGradients(NewtonFit):
    """Steps by products with second derivatives; the penalty is w^2 / 2."""

    cdef int32_t[::1] curved        # samples where the loss has a second derivative
    cdef double[::1] curvature      # that derivative, times the cost
    cdef Py_ssize_t n_curved
    cdef double[::1] slope          # gradient of penalty and model at the goal
    cdef double[::1] search         # direction of the next conjugate step
    cdef double[::1] product        # of the second derivatives with that

    def __init__(self, F, samples, target, cost, weights, intercept):
        super().__init__(F, samples, target, cost, weights, intercept)
        self.curved, self.curvature = np.empty(len(samples), dtype=np.int32), np.empty(len(samples))
        self.slope, self.search, self.product = np.empty((3, self.n_features + 1))

    cdef void find_goal(self) noexcept nogil:
        cdef Py_ssize_t j, p = self.n_features
        cdef double length, before, bend, violation = 0.0, left
        cdef int _product
        self._find_curvature()
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

    cdef void _find_curvature(self) noexcept nogil:
        cdef Py_ssize_t i
        cdef double c
        self.n_curved = 0
        for i in range(self.n_samples):
            c = self.cost[i] * self.F.loss.curvature(self.margin[i])
            if c > 0.0:
                self.curved[self.n_curved], self.curvature[self.n_curved] = self.samples[i], c
                self.n_curved += 1

    cdef void _multiply(self) noexcept nogil:
        """Second derivatives of F, the sum of c loss'' z z' and the penalty's, times search."""
        cdef Py_ssize_t i, j, p = self.n_features
        cdef Sample x
        memset(&self.product[0], 0, (p + 1) * sizeof(double))
        self.to_raw(&self.search[0])
        for i in range(self.n_curved):
            x = self.F.data.get(self.curved[i])
            self.add(self.curvature[i] * self.project(&x), &x, &self.product[0])
        self.to_scaled(&self.product[0])
        for j in range(p):
            self.product[j] += self.search[j]

    cdef double _dot(self, const double[::1] a, const double[::1] b) noexcept nogil:
        return ngdt_dense_f64_f64(&a[0], NULL, self.n_features + 1, &b[0])

    cdef void _axpy(self, double t, const double[::1] a, double[::1] b) noexcept nogil:
        ngdt_add_f64_f64(t, &a[0], NULL, self.n_features + 1, &b[0])
