from ngdt._core.loss cimport Loss


cdef class RegressionLoss(Loss):
    cdef double at(self, double value, double y) noexcept nogil
    cdef double slope(self, double value, double y) noexcept nogil
    cdef double best(self, double y) noexcept nogil


cdef class SquaredLoss(RegressionLoss):
    pass


cdef class HuberLoss(RegressionLoss):
    cdef readonly double limit


cdef class QuantileLoss(RegressionLoss):
    cdef readonly double quantile
    cdef double above
    cdef double below


cdef class AbsoluteLoss(QuantileLoss):
    pass


cdef class PoissonLoss(RegressionLoss):
    cdef readonly double pseudo_count
