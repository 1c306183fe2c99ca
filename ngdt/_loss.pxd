cdef class Loss:
    cdef void profile(self, const double *theta, int k, double *out) noexcept nogil
    cdef double largest(
        self, const double *lo, const double *hi, int k, const double *y) noexcept nogil
    cdef double smallest(
        self, const double *lo, const double *hi, int k, const double *y) noexcept nogil
    cdef void gradient(
        self, const double *theta, int k, const double *y, double *out) noexcept nogil


cdef class LogLoss(Loss):
    cdef readonly double pseudo_count


cdef class BoundedLoss(LogLoss):
    cdef readonly double q


cdef class SquaredLoss(Loss):
    cdef readonly double limit
    cdef double rho(self, double e) noexcept nogil


cdef class HuberLoss(SquaredLoss):
    pass
