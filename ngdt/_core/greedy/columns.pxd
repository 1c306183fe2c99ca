from libc.stdint cimport int32_t, uint64_t

from ngdt._core.samples cimport Samples

cdef extern from "differ.h" nogil:
    int ngdt_lowest_bit(uint64_t word)
    uint64_t ngdt_first_lowest(uint64_t word)

ctypedef fused count_t:
    # Weights of a node's samples: whole numbers, or any
    int32_t
    double

cdef enum:
    MAX_FEATURES = 256      # features read at once: what is listed of a row stays in level 1
    CELL_BYTES = 1 << 20    # counting table, half of a level-2 cache
    MAX_ENTRIES = 65536     # listed entries of a block, of 12 bytes, unless one feature has more
    CELLS_PER_SORTED_ENTRY = 4  # to go through so many cells takes as long as to sort one entry


cdef inline Py_ssize_t most_cells_of_feature(Py_ssize_t n) noexcept nogil:
    """Most cells that are counted for one feature, in a node of at most n samples."""
    return min(CELL_BYTES // 8, CELLS_PER_SORTED_ENTRY * n)


cdef struct Tally:
    # What is counted for each position in the node; n = 0 if nothing can be counted.
    Py_ssize_t n
    bint whole              # all amounts are whole numbers
    const int32_t *tag    # 0 <= tag < n
    const double *amount


cdef struct Feature:
    # A feature of the block that was read last.
    double low, inverse     # its grid
    Py_ssize_t count        # its entries
    Py_ssize_t base         # the first of them, or of its cells if counted
    Py_ssize_t base_point   # where its points begin in `seen`, a multiple of 8
    bint counted


cdef class BinnedColumns:
    cdef Samples _data
    cdef readonly Py_ssize_t n_features
    # What is known of each feature
    cdef double[::1] skip       # its commonest value, not to be read; or NaN
    cdef float[::1] _skip32
    cdef int32_t[::1] stored    # entries with another value, over all samples
    cdef readonly int32_t[::1] steps    # number of points of its grid, 0 if its values lie on none
    cdef double[::1] low        # the grid: point c is near low + c / inverse
    cdef double[::1] inverse
    # The block: features first, first + 1, ...
    cdef Feature feature[MAX_FEATURES]
    cdef double[::1] z          # entries: value and position in the node
    cdef int32_t[::1] position
    cdef unsigned char[::1] cells   # int32 or float64: weight of each grid point and tag
    cdef unsigned char[::1] seen    # 1 for each grid point that has a weight
    cdef int32_t[::1] _cursor   # next stored value of each sparse sample

    cdef double get(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef int32_t point(self, Py_ssize_t j, double x) noexcept nogil
    cdef Py_ssize_t read(
        self, const int32_t *samples, Py_ssize_t n, Py_ssize_t first, const Tally *tally
    ) noexcept nogil
    cdef Py_ssize_t _schedule(
        self, Py_ssize_t n, Py_ssize_t first, const Tally *tally) noexcept nogil
