from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

cdef enum:
    MAX_POINTS = 4096    # most points of a grid, a power of 2


cdef struct Grid:
    # A guess at the even spacing of a feature's values, refined as values come in. A table of
    # MAX_POINTS numbers holds the value seen at each point, modulo MAX_POINTS; NaN where there was
    # none.
    bint alive
    int n_guesses
    double anchor, inverse, low, high


cdef void start_grid(Grid *grid, double *table, double known) noexcept nogil
cdef void learn_new(Grid *grid, double *table, double x, double *scratch) noexcept nogil
cdef int32_t finish_grid(const Grid *grid, const double *table, double *scratch) noexcept nogil


cdef inline int64_t grid_point(const Grid *grid, double x) noexcept nogil:
    # For a point in (-MAX_POINTS, MAX_POINTS) the sum is positive, so that truncation rounds down;
    # it shifts the table by MAX_POINTS, which is no shift.
    return <int64_t> ((x - grid.anchor) * grid.inverse + (MAX_POINTS + 0.5))


cdef inline void learn(Grid *grid, double *table, double x, double *scratch) noexcept nogil:
    """Meet a value of the feature. `scratch` has room for MAX_POINTS + 1 numbers."""
    if not fabs((x - grid.anchor) * grid.inverse) < MAX_POINTS or (
            table[grid_point(grid, x) & (MAX_POINTS - 1)] != x):
        learn_new(grid, table, x, scratch)
