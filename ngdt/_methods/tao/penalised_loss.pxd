from ngdt._core.samples cimport Samples


cdef class Surrogate:
    cdef double value(self, double margin) noexcept nogil
    cdef double slope(self, double margin) noexcept nogil
    cdef double curvature(self, double margin) noexcept nogil


cdef class Penalty:
    cdef readonly int degree
    cdef double value(self, double w) noexcept nogil
    cdef double violation(self, double w, double gradient) noexcept nogil
    cdef double minimiser(self, double w, double gradient, double curvature) noexcept nogil


cdef class PenalisedLoss:
    cdef Samples data
    cdef const double[::1] center
    cdef const double[::1] inverse      # of the scale
    cdef Surrogate loss
    cdef Penalty penalty
