from libc.stdint cimport int32_t

from ngdt._core.greedy.columns cimport Tally

cdef enum:
    REST = -1       # the item that stands for all samples of the node that were not listed


cdef struct Moves:
    # The samples of a node in ascending order of one feature: what passes from the right to the
    # left side as the threshold grows. `item` is a class (`amount` its weight) or the position of
    # a sample in the node, and at most once REST. What a negative amount says passes back to the
    # right side. There is no threshold between moves of equal z. A threshold behind a move before
    # `first`, or from `end` on, would leave too few samples on a side.
    Py_ssize_t n, first, end
    bint has_rest
    double *z
    int32_t *item
    double *amount


cdef struct Cut:
    double gain         # in the criterion's unit; -INFINITY if there is no admissible threshold
    double low          # the threshold lies between the neighbouring values low < high
    double high


cdef class Criterion:
    cdef double total                   # weight of the node
    cdef double unit                    # of gains, in bits or squared target units, times weight
    cdef double tolerance               # gains closer than this (in units) are the same number
    cdef double least                   # half of the least weight in the node: no side is empty
    cdef const double[:, ::1] _y
    cdef const double[::1] _sample_weight
    cdef int32_t[::1] tag               # item of each position in the node
    cdef double[::1] amount             # its weight
    cdef Tally tally                  # the same, if samples of equal tag can be pooled

    cdef bint start(self, const int32_t *samples, Py_ssize_t n) noexcept nogil
    cdef Cut scan(self, const Moves *moves) noexcept nogil
