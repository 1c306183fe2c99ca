from ngdt._core.greedy.criterion cimport Criterion


cdef class Variance(Criterion):
    cdef Py_ssize_t n_targets
    cdef double _scale
    cdef double[:, ::1] _deviation      # of each position and target from the node's mean
    cdef double[:, ::1] _scratch
