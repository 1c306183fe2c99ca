from libc.stdint cimport int32_t

from ngdt._methods.tao.newton cimport NewtonFit


cdef class WorkingSetFit(NewtonFit):
    cdef int32_t[::1] working       # features of the working set, and the intercept
    cdef int size                   # how many these are

    cdef void choose_working_set(self) noexcept nogil
    cdef bint _is_above(self, Py_ssize_t j, double least) noexcept nogil
    cdef Py_ssize_t _count_above(self, double least) noexcept nogil
