from ngdt._loss cimport Loss


cdef class LogLoss(Loss):
    cdef readonly double pseudo_count


cdef class BoundedLoss(LogLoss):
    cdef readonly double q


cdef class SquaredLoss(Loss):
    cdef readonly double limit
    cdef double rho(self, double e) noexcept nogil


cdef class HuberLoss(SquaredLoss):
    pass
