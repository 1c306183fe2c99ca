from libc.math cimport exp


cdef inline double larger(double a, double b) noexcept nogil:
    # fmax handles NaN and is not inlined.
    return a if a > b else b


cdef inline void to_probabilities(double *values, int k) noexcept nogil:
    """Replace values by their softmax."""
    cdef double top = values[0], total = 0.0
    cdef int c
    for c in range(1, k):
        top = larger(top, values[c])
    for c in range(k):
        values[c] = exp(values[c] - top)
        total += values[c]
    for c in range(k):
        values[c] /= total


cdef class Loss:
    cdef void profile(self, const double *values, int k, double *out) noexcept nogil
    cdef double largest(
        self, const double *lo, const double *hi, int k, const double *y) noexcept nogil
    cdef double smallest(
        self, const double *lo, const double *hi, int k, const double *y) noexcept nogil
    cdef void gradient(
        self, const double *values, int k, const double *y, double *out) noexcept nogil


cdef class LogLoss(Loss):
    cdef readonly double pseudo_count


cdef class BoundedLoss(LogLoss):
    cdef readonly double q
