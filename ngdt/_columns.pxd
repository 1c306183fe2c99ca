from libc.stdint cimport int32_t

from ngdt._rows cimport Rows

cdef enum:
    BLOCK = 256         # most features read at once
    CELLS = 131072      # cells of the counting table: 1 MB, half of a level-2 cache
    ENTRIES = 65536     # listed entries of a block, unless one feature has more
    STEPS = 4096        # most steps of a grid


cdef class Columns:
    cdef Rows _rows
    cdef readonly Py_ssize_t n_features
    # What is known of each feature
    cdef double[::1] skip       # its commonest value, not to be read; or NaN
    cdef float[::1] _skip32
    cdef int32_t[::1] stored    # entries with another value, over all rows
    cdef int32_t[::1] steps     # number of points of its grid, 0 if its values lie on none
    cdef double[::1] low        # the grid: point c is near low + c / inverse
    cdef double[::1] inverse
    # The block that was read last: features first, first + 1, ...
    cdef int32_t[::1] count     # entries of each
    cdef int32_t[::1] base      # where its entries (or cells, if counted) begin
    cdef unsigned char[::1] counted
    cdef double[::1] z          # entries: value and position in the node
    cdef int32_t[::1] position
    cdef double[::1] cell       # weight of each grid point and class
    cdef int32_t[::1] _cursor   # next stored value of each sparse row
    # One row
    cdef unsigned char[::1] _flag
    cdef int32_t[::1] _entry
    cdef double[::1] _value

    cdef double get(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef int32_t point(self, Py_ssize_t j, double x) noexcept nogil
    cdef Py_ssize_t read(
        self, const int32_t *rows, Py_ssize_t n, Py_ssize_t first, Py_ssize_t n_labels,
        const int32_t *tag, const double *amount) noexcept nogil
    cdef void _prefetch(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t _plan(
        self, Py_ssize_t n, Py_ssize_t first, Py_ssize_t n_labels) noexcept nogil
    cdef Py_ssize_t _entries(
        self, Py_ssize_t i, Py_ssize_t at, Py_ssize_t first, Py_ssize_t last) noexcept nogil
