"""Finding features whose values lie on a grid, so that they can be counted instead of sorted.

A grid has even spacing and at most MAX_POINTS points, each of which stands for at most one value:
bytes, whole numbers, decimals with few digits, and all of these shifted and scaled. Points need not
be exact; what counts is that every value has a point of its own, in the right order, which is
checked on all values. A new value costs O(1) if it fits the present guess of the spacing, else
O(MAX_POINTS); a feature is given up after MAX_GUESSES guesses.
"""

from libc.math cimport NAN, fabs, fmax, fmin, isfinite, isnan, rint
from libc.stdint cimport int32_t, int64_t

cdef enum:
    MAX_GUESSES = 64    # before giving up


cdef void start_grid(Grid *grid, double *table, double known) noexcept nogil:
    """Start from one known value of the feature, or NaN."""
    cdef Py_ssize_t c
    for c in range(MAX_POINTS):
        table[c] = NAN
    grid.alive = True
    grid.n_guesses = 0
    grid.inverse = 0.0
    grid.anchor = grid.low = grid.high = known
    if not isnan(known):
        table[0] = known


cdef bint _place(Grid *grid, double *table, double x) noexcept nogil:
    """Put x into its place in the table; False if that is taken, or too far out."""
    cdef double *slot
    if not fabs((x - grid.anchor) * grid.inverse) < MAX_POINTS:
        return False
    slot = table + (grid_point(grid, x) & (MAX_POINTS - 1))
    if slot[0] == x:
        return True
    # Farther apart than this, two points could share a slot.
    if not isnan(slot[0]) or not (
            fmax(grid.high, x) - fmin(grid.low, x)) * grid.inverse < MAX_POINTS - 2:
        return False
    grid.low, grid.high = fmin(grid.low, x), fmax(grid.high, x)
    slot[0] = x
    return True


cdef void learn_new(Grid *grid, double *table, double x, double *scratch) noexcept nogil:
    """Meet a value that is not in its place; give the grid up if no spacing fits."""
    cdef Py_ssize_t n, v, c
    cdef double gap, width
    if isnan(grid.anchor):
        grid.anchor = grid.low = grid.high = x
        table[0] = x
    if _place(grid, table, x):
        return
    grid.n_guesses += 1
    n = _distinct(grid, table, x, scratch)
    width = scratch[n - 1] - scratch[0]
    gap = width
    for v in range(1, n):
        gap = fmin(gap, scratch[v] - scratch[v - 1])
    # The smallest gap is known to few digits; the whole width tells the spacing more precisely.
    grid.inverse = rint(width / gap) / width
    grid.low, grid.high = scratch[0], scratch[n - 1]
    grid.alive = grid.n_guesses < MAX_GUESSES and isfinite(grid.inverse) and (
        width / gap < MAX_POINTS - 2)
    for c in range(MAX_POINTS):
        table[c] = NAN
    for v in range(n):
        grid.alive = grid.alive and _place(grid, table, scratch[v])


cdef Py_ssize_t _distinct(
    const Grid *grid, const double *table, double x, double *values
) noexcept nogil:
    """Write the values in the table, and x unless it is NaN, in ascending order."""
    cdef int64_t c
    cdef double y
    cdef Py_ssize_t n = 0, v
    if not isnan(grid.low):
        for c in range(grid_point(grid, grid.low), grid_point(grid, grid.high) + 1):
            y = table[c & (MAX_POINTS - 1)]
            if not isnan(y):
                values[n] = y
                n += 1
    if isnan(x):
        return n
    v = n
    while v > 0 and values[v - 1] > x:
        values[v] = values[v - 1]
        v -= 1
    values[v] = x
    return n + 1


cdef int32_t finish_grid(const Grid *grid, const double *table, double *scratch) noexcept nogil:
    """Number of points of the grid, 0 if there is none.

    Points are counted from the lowest value on, which may round differently than from the anchor:
    only if all values still have points of their own can they be told apart by them.
    """
    cdef Py_ssize_t n, v
    cdef int32_t c, previous = -1
    if not grid.alive:
        return 0
    n = _distinct(grid, table, NAN, scratch)
    for v in range(n):
        c = <int32_t> ((scratch[v] - grid.low) * grid.inverse + 0.5)
        if c <= previous:
            return 0
        previous = c
    return previous + 1
