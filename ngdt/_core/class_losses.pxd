from ngdt._core.loss cimport Loss


cdef class LogLoss(Loss):
    cdef readonly double pseudo_count


cdef class BoundedLoss(LogLoss):
    cdef readonly double q
