from ngdt._core.samples cimport Sample
from ngdt._methods.soft.routing cimport DenseRouting


cdef class CSRRouting(DenseRouting):
    cdef float[:, ::1] by_feature   # (n_features + 1, n_internal): the weights
    cdef float[:, ::1] row          # (batch_size, n_internal): scores, then gradients in them
    cdef object _samples
    cdef Sample *samples            # by slot
