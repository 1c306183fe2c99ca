from ngdt._regression_losses cimport RegressionLoss


cdef class PoissonLoss(RegressionLoss):
    cdef readonly double pseudo_count
