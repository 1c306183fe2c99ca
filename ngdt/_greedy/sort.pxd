from libc.stdint cimport uint64_t

cdef void sort_keys(uint64_t *keys, uint64_t *scratch, Py_ssize_t n) noexcept nogil
cdef void sort_doubles(
    const double *z, uint64_t *order, uint64_t *scratch, Py_ssize_t n) noexcept nogil
