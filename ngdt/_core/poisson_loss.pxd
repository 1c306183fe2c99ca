from ngdt._core.regression_losses cimport RegressionLoss


cdef class PoissonLoss(RegressionLoss):
    cdef readonly double pseudo_count
