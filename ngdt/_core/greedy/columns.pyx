"""Features of the samples of a node, for the split search.

Data are stored by samples, but a split search needs the values of one feature at a time. `read`
transposes a block of features for the samples of one node. Entries that hold the commonest value of
the feature (the background of an image, the zero of a sparse matrix) are left out. The others
become a list of values, or, where values lie on a grid of few points and the node is large, the
weight of each grid point and class. Each dense sample is read once per block, 64 values at a time;
a sparse one once per node, as its cursor marks where the next block starts. One thread at a time.

A grid has even spacing and at most MAX_POINTS points, each of which stands for at most one value:
bytes, whole numbers, decimals with few digits, and all of these shifted and scaled. Points need not
be exact; what counts is that every value has a point of its own, in the right order, which is
checked on all values. The spacing is guessed from the first values. A new one costs O(1) if it fits
the present guess, else O(MAX_POINTS); a feature is given up after MAX_GUESSES guesses.
"""

import numpy as np

from libc.math cimport NAN, fabs, fmax, fmin, isfinite, isnan, rint
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from ngdt._core.samples cimport Sample, ngdt_prefetch_range

cdef extern from "differ.h" nogil:
    uint64_t ngdt_differ_f32(const float *x, const float *y, Py_ssize_t n)
    uint64_t ngdt_differ_f64(const double *x, const double *y, Py_ssize_t n)

cdef enum:
    MAX_GUESSES = 64            # of a grid, before giving up
    VALUES_AHEAD = 1536         # values that are prefetched, at most 12 kB: level 1 holds them
    GRIDS_AT_ONCE = 32          # features whose grids are sought at once: their tables take 1 MB
    MAX_POINTS = 4096           # most points of a grid, a power of 2
    FIRST_VALUES = 128          # values from which a spacing is guessed: real ones fit none of them

ctypedef fused real:
    float
    double


cdef struct Grid:
    # A guess at the even spacing of a feature's values, refined as values come in. A table of
    # MAX_POINTS numbers holds the first values as they come, until there are FIRST_VALUES; the
    # inverse is NaN then. From the first guess on, it holds the value seen at each point, modulo
    # MAX_POINTS; NaN where there was none.
    bint alive
    int n_first, n_guesses
    double anchor, inverse, low, high


cdef class BinnedColumns:
    """Block-wise access to the features of a matrix.

    Parameters
    ----------
    data : Samples
    used : ndarray of int32
        The samples that may be read. Their values decide which features have a grid.
    """

    def __init__(self, Samples data, const int32_t[::1] used):
        cdef Py_ssize_t n = len(used), p = data.n_features
        self._data = data
        self.n_features = p
        self.stored = np.zeros(p, dtype=np.int32)
        self.steps = np.zeros(p, dtype=np.int32)
        self.low = np.zeros(p)
        self.inverse = np.zeros(p)
        # No larger than few samples need: to clear a megabyte takes longer than a small fit.
        cdef Py_ssize_t width = min(p, MAX_FEATURES), most_cells = most_cells_of_feature(n)
        cdef Py_ssize_t most_entries = max(n, min(n * width, MAX_ENTRIES))
        self.z = np.empty(most_entries)
        self.position = np.empty(most_entries, dtype=np.int32)
        self.cells = np.zeros(min(8 * most_cells * width, CELL_BYTES), dtype=np.uint8)
        self.seen = np.zeros(min((most_cells + 7) * width, CELL_BYTES // 4), dtype=np.uint8)
        self._cursor = np.empty(n if data.is_sparse else 0, dtype=np.int32)
        self.skip = skip = np.zeros(p) if data.is_sparse else self._commonest(used)
        self._skip32 = skip.astype(np.float32) if data.is_float32 else None
        if n:
            self._find_grids(used)

    def _commonest(self, const int32_t[::1] used):
        """The commonest value of each feature in some samples, NaN if it is not common."""
        # 64 samples are enough: a value that more than an eighth of all have is hardly ever missed,
        # and what is missed costs time, not correctness.
        cdef Py_ssize_t n_sampled = min(len(used), 64), i, j
        values = np.empty((n_sampled, self.n_features))
        cdef double[:, ::1] s = values
        for i in range(n_sampled):
            for j in range(self.n_features):
                s[i, j] = self.get(used[i * len(used) // n_sampled], j)
        values.sort(axis=0)
        commonest = np.full(self.n_features, NAN)
        cdef double[::1] value = commonest
        cdef Py_ssize_t run, longest
        # Of each sorted column, the value of the longest run, if that is more than an eighth.
        for j in range(self.n_features):
            run, longest = 0, n_sampled // 8
            for i in range(n_sampled):
                run = run + 1 if i > 0 and s[i, j] == s[i - 1, j] else 1
                if run > longest:
                    longest, value[j] = run, s[i, j]
        return commonest

    cdef double get(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """X[i, j]"""
        cdef Sample x = self._data.get(i)
        cdef Py_ssize_t low = 0, high = x.n, middle
        if x.indices != NULL:
            # Columns ascend, see `Samples`.
            while low < high:
                middle = (low + high) // 2
                if x.indices[middle] < j:
                    low = middle + 1
                else:
                    high = middle
            if low == x.n or x.indices[low] != j:
                return 0.0
            j = low
        if self._data.is_float32:
            return (<const float *> x.values)[j]
        return (<const double *> x.values)[j]

    cdef inline int32_t point(self, Py_ssize_t j, double x) noexcept nogil:
        """Number of the point of feature j's grid at which x lies."""
        return <int32_t> ((x - self.low[j]) * self.inverse[j] + 0.5)

    cdef Py_ssize_t read(
        self, const int32_t *samples, Py_ssize_t n, Py_ssize_t first, const Tally *tally
    ) noexcept nogil:
        """Read a block of features from `first` on; return the feature after its last.

        Features for which that pays are counted by grid point and tag. The caller has to set
        what it finds in `seen` and `cells` back to 0.
        """
        cdef Py_ssize_t last = self._schedule(n, first, tally)
        # One table for counts of either type, as a node needs one of them.
        cdef void *cells = &self.cells[0]
        # A new node: each of its samples is read from its first stored value on.
        if first == 0 and self._data.is_sparse:
            memset(&self._cursor[0], 0, n * sizeof(int32_t))
        # Four loops are compiled, so that none asks for a type at each value.
        if self._data.is_float32:
            if tally.whole:
                _read_block(
                    self, &self._skip32[first], <int32_t *> cells, samples, n, first, last, tally)
            else:
                _read_block(
                    self, &self._skip32[first], <double *> cells, samples, n, first, last, tally)
        elif tally.whole:
            _read_block(
                self, &self.skip[first], <int32_t *> cells, samples, n, first, last, tally)
        else:
            _read_block(
                self, &self.skip[first], <double *> cells, samples, n, first, last, tally)
        return last

    cdef Py_ssize_t _schedule(
        self, Py_ssize_t n, Py_ssize_t first, const Tally *tally
    ) noexcept nogil:
        """Choose how many features to read, and how; return the feature after the last."""
        cdef Py_ssize_t most_cells = CELL_BYTES // (4 if tally.whole else 8)
        cdef Py_ssize_t j, needed, most_entries, n_cells = 0, n_points = 0, n_entries = 0
        cdef Py_ssize_t last = min(first + MAX_FEATURES, self.n_features)
        cdef Feature *feature = self.feature
        for j in range(first, last):
            feature.low, feature.inverse = self.low[j], self.inverse[j]
            feature.count = 0
            needed = self.steps[j] * tally.n
            # Of sparse data, a feature has far fewer entries than the node has samples.
            most_entries = min(n, self.stored[j])
            feature.counted = 0 < needed <= min(
                most_cells // 2, CELLS_PER_SORTED_ENTRY * most_entries)
            if feature.counted:
                feature.base, feature.base_point = n_cells, n_points
                n_cells += needed
                # `seen` is scanned in words of eight bytes, so that each feature begins with a
                # word.
                n_points += (self.steps[j] + 7) & ~7
            else:
                feature.base = n_entries
                n_entries += most_entries
            # The next block begins with this one. The first feature of a block always fits: a table
            # holds two of the largest that are counted, a list all samples of one.
            if n_cells > most_cells or n_points > self.seen.shape[0] or (
                    n_entries > self.z.shape[0]):
                last = j
                break
            feature += 1
        # Blocks that end with a cache line save reading it twice.
        if last < self.n_features and last - first > 32:
            last -= (last - first) % 16
        return last

    def _find_grids(self, const int32_t[::1] used):
        """Find the features whose values are few enough, and even enough, to be counted."""
        cdef Py_ssize_t first, last = 0, n = len(used), f
        cdef unsigned char[::1] grid_bytes = np.zeros(GRIDS_AT_ONCE * sizeof(Grid), dtype=np.uint8)
        cdef Grid *grid = <Grid *> &grid_bytes[0]
        cdef double[:, ::1] table = np.empty((min(GRIDS_AT_ONCE, self.n_features), MAX_POINTS))
        cdef double[::1] values = np.empty(MAX_POINTS + 1)
        with nogil:
            if self._data.is_sparse:
                memset(&self._cursor[0], 0, n * sizeof(int32_t))
            # A feature is given up as soon as its values fit no grid: one of real numbers, after
            # a few values.
            while last < self.n_features:
                first = last
                last = min(first + GRIDS_AT_ONCE, self.n_features)
                for f in range(last - first):
                    _start_grid(grid + f, &table[f, 0], self.skip[first + f])
                if self._data.is_float32:
                    _learn_block(
                        self, &self._skip32[first], &used[0], n, first, last, grid, &table[0, 0],
                        &values[0])
                else:
                    _learn_block(
                        self, &self.skip[first], &used[0], n, first, last, grid, &table[0, 0],
                        &values[0])
                for f in range(last - first):
                    self.steps[first + f] = _finish_grid(grid + f, &table[f, 0], &values[0])
                    self.low[first + f] = grid[f].low
                    self.inverse[first + f] = grid[f].inverse


cdef void _read_block(
    BinnedColumns self, const real *skip, count_t *cells, const int32_t *samples, Py_ssize_t n,
    Py_ssize_t first, Py_ssize_t last, const Tally *tally
) noexcept nogil:
    """Distribute the entries to the features of the block."""
    cdef unsigned char *seen = &self.seen[0]
    cdef double *z = &self.z[0]
    cdef int32_t *position = &self.position[0]
    # 3 kB on the stack, which stay in the level-1 cache.
    cdef real value[MAX_FEATURES]
    cdef int32_t entry[MAX_FEATURES]
    cdef Feature *feature
    cdef count_t amount = 0
    cdef Py_ssize_t i, e, point, slot, tag = 0, ahead = VALUES_AHEAD // (last - first) + 1
    cdef Py_ssize_t fetched_to = first if self._data.is_sparse else last
    cdef Sample x
    # Samples outside, features inside: each row is read once per block, in order, however its
    # samples lie in memory.
    for i in range(n):
        if i + ahead < n:
            x = self._data.get(samples[i + ahead])
            ngdt_prefetch_range(
                <const real *> x.values + first, <const real *> x.values + fetched_to)
        # Without a tally nothing is counted, and amounts need not be set.
        if tally.n:
            amount = <count_t> tally.amount[i]
            tag = tally.tag[i]
        for e in range(_entries(self, skip, samples[i], i, first, last, entry, value)):
            feature = self.feature + entry[e]
            # The order of additions to a cell is that of the samples, whatever the block: sums do
            # not depend on how features are divided into blocks.
            if feature.counted:
                point = <Py_ssize_t> ((value[e] - feature.low) * feature.inverse + 0.5)
                seen[feature.base_point + point] = 1
                cells[feature.base + point * tally.n + tag] += amount
            else:
                slot = feature.base + feature.count
                z[slot] = value[e]
                position[slot] = <int32_t> i
            feature.count += 1


cdef void _learn_block(
    BinnedColumns self, const real *skip, const int32_t *samples, Py_ssize_t n, Py_ssize_t first,
    Py_ssize_t last, Grid *grid, double *table, double *values
) noexcept nogil:
    """Look for the grids of a block of features."""
    cdef real value[MAX_FEATURES]
    cdef int32_t entry[MAX_FEATURES]
    cdef Py_ssize_t i, e, f, n_open = last - first, ahead = VALUES_AHEAD // (last - first) + 1
    cdef Py_ssize_t fetched_to = first if self._data.is_sparse else last
    cdef Sample x
    for i in range(n):
        if n_open == 0:
            # No feature has a grid or a value to skip: further samples have nothing to tell.
            for f in range(first, last):
                self.stored[f] += <int32_t> (n - i)
            break
        if i + ahead < n:
            x = self._data.get(samples[i + ahead])
            ngdt_prefetch_range(
                <const real *> x.values + first, <const real *> x.values + fetched_to)
        for e in range(_entries(self, skip, samples[i], i, first, last, entry, value)):
            f = entry[e]
            self.stored[first + f] += 1
            if grid[f].alive:
                # Once given up, a feature is sorted; the others are still counted on the way.
                _learn(grid + f, table + f * MAX_POINTS, value[e], values)
                if not grid[f].alive:
                    n_open -= isnan(skip[f])


cdef inline Py_ssize_t _entries(
    BinnedColumns self, const real *skip, Py_ssize_t i, Py_ssize_t at, Py_ssize_t first,
    Py_ssize_t last, int32_t *entry, real *value
) noexcept nogil:
    """List the entries of sample i in a block of features; return their number.

    `at` is the position of the sample in the node. A sparse sample is read on from its cursor.
    """
    cdef Sample x = self._data.get(i)
    cdef const real *values = <const real *> x.values
    # The sample knows its form; both ways list the same entries.
    if x.indices == NULL:
        return _dense_entries(values + first, skip, last - first, entry, value)
    return _sparse_entries(
        values, x.indices, x.n, first, last, &self._cursor[at], entry, value)


cdef inline Py_ssize_t _dense_entries(
    const real *x, const real *skip, Py_ssize_t n, int32_t *entry, real *value
) noexcept nogil:
    cdef Py_ssize_t f, at, n_entries = 0
    cdef uint64_t differing
    # A bit for each of 64 values that differs from what is skipped: where most do not, as in
    # images, the loop below runs rarely, and no branch is mispredicted for the others.
    for f in range(0, n, 64):
        if real is float:
            differing = ngdt_differ_f32(x + f, skip + f, min(n - f, 64))
        else:
            differing = ngdt_differ_f64(x + f, skip + f, min(n - f, 64))
        while differing:
            at = f + ngdt_lowest_bit(differing)
            entry[n_entries] = <int32_t> at
            value[n_entries] = x[at]
            n_entries += 1
            differing &= differing - 1
    return n_entries


cdef inline Py_ssize_t _sparse_entries(
    const real *x, const int32_t *indices, Py_ssize_t n, Py_ssize_t first, Py_ssize_t last,
    int32_t *cursor, int32_t *entry, real *value
) noexcept nogil:
    cdef Py_ssize_t at = cursor[0], n_entries = 0
    while at < n and indices[at] < last:
        # Zeros may be stored, and are what is skipped of sparse data.
        if x[at] != 0:
            entry[n_entries] = <int32_t> (indices[at] - first)
            value[n_entries] = x[at]
            n_entries += 1
        at += 1
    # The next block goes on from here: a row is read once per node, not once per block.
    cursor[0] = <int32_t> at
    return n_entries


cdef void _start_grid(Grid *grid, double *table, double known) noexcept nogil:
    """Start from one known value of the feature, or NaN."""
    grid.alive = True
    grid.n_first = grid.n_guesses = 0
    grid.anchor, grid.inverse = 0.0, NAN
    if not isnan(known):
        table[0] = known
        grid.n_first = 1


cdef inline int64_t _grid_point(const Grid *grid, double x) noexcept nogil:
    # For a point in (-MAX_POINTS, MAX_POINTS) the sum is positive, so that truncation rounds down;
    # it shifts the table by MAX_POINTS, which is no shift.
    return <int64_t> ((x - grid.anchor) * grid.inverse + (MAX_POINTS + 0.5))


cdef bint _place(Grid *grid, double *table, double x) noexcept nogil:
    """Put x into its place in the table; False if that is taken, or too far out."""
    cdef double *slot
    if not fabs((x - grid.anchor) * grid.inverse) < MAX_POINTS:
        return False
    slot = table + (_grid_point(grid, x) & (MAX_POINTS - 1))
    if slot[0] == x:
        return True
    # Farther apart than this, two points could share a slot.
    if not isnan(slot[0]) or not (
            fmax(grid.high, x) - fmin(grid.low, x)) * grid.inverse < MAX_POINTS - 2:
        return False
    grid.low, grid.high = fmin(grid.low, x), fmax(grid.high, x)
    slot[0] = x
    return True


cdef inline void _learn(Grid *grid, double *table, double x, double *scratch) noexcept nogil:
    """Meet a value of the feature. `scratch` has room for MAX_POINTS + 1 numbers."""
    if not fabs((x - grid.anchor) * grid.inverse) < MAX_POINTS or (
            table[_grid_point(grid, x) & (MAX_POINTS - 1)] != x):
        _learn_new(grid, table, x, scratch)


cdef void _learn_new(Grid *grid, double *table, double x, double *scratch) noexcept nogil:
    """Meet a value that is not in its place; give the grid up if no spacing fits."""
    if grid.n_first < FIRST_VALUES:
        table[grid.n_first] = x
        grid.n_first += 1
        if grid.n_first == FIRST_VALUES:
            _guess_from_first(grid, table, scratch)
    elif not _place(grid, table, x):
        # The spacing was guessed from too few values: guess anew from all that were seen.
        _guess(grid, table, scratch, _insert(x, scratch, _distinct(grid, table, scratch)))


cdef void _guess_from_first(Grid *grid, double *table, double *scratch) noexcept nogil:
    """Guess a spacing for the first values, of which there is one at least."""
    cdef Py_ssize_t v, n = 0
    for v in range(grid.n_first):
        n = _insert(table[v], scratch, n)
    grid.n_first = FIRST_VALUES
    grid.anchor = table[0]
    _guess(grid, table, scratch, n)


cdef void _guess(Grid *grid, double *table, const double *values, Py_ssize_t n) noexcept nogil:
    """Guess the spacing of values in ascending order, and give each its place."""
    cdef Py_ssize_t v, c
    cdef double width = values[n - 1] - values[0], gap = width
    grid.n_guesses += 1
    grid.low, grid.high, grid.inverse = values[0], values[n - 1], 0.0
    if n > 1:
        for v in range(1, n):
            gap = fmin(gap, values[v] - values[v - 1])
        # The smallest gap is known to few digits; the whole width tells the spacing more precisely.
        grid.inverse = rint(width / gap) / width
        grid.alive = grid.n_guesses < MAX_GUESSES and isfinite(grid.inverse) and (
            width / gap < MAX_POINTS - 2)
    # Most features of real numbers end here: to clear the table for each took longer than a search.
    if not grid.alive:
        return
    # NaN stands for an empty place: it equals no value.
    for c in range(MAX_POINTS):
        table[c] = NAN
    for v in range(n):
        grid.alive = grid.alive and _place(grid, table, values[v])


cdef Py_ssize_t _distinct(
    const Grid *grid, const double *table, double *values
) noexcept nogil:
    """Write the values in the table in ascending order; return their number."""
    cdef int64_t c
    cdef double y
    cdef Py_ssize_t n = 0
    for c in range(_grid_point(grid, grid.low), _grid_point(grid, grid.high) + 1):
        y = table[c & (MAX_POINTS - 1)]
        if not isnan(y):
            values[n] = y
            n += 1
    return n


cdef Py_ssize_t _insert(double x, double *values, Py_ssize_t n) noexcept nogil:
    """Insert x into n ascending values, unless it is one of them; return their number."""
    cdef Py_ssize_t v = n, k
    while v > 0 and values[v - 1] > x:
        v -= 1
    if v > 0 and values[v - 1] == x:
        return n
    for k in range(n, v, -1):
        values[k] = values[k - 1]
    values[v] = x
    return n + 1


cdef int32_t _finish_grid(Grid *grid, double *table, double *scratch) noexcept nogil:
    """Number of points of the grid, 0 if there is none.

    Points are counted from the lowest value on, which may round differently than from the anchor:
    only if all values still have points of their own can they be told apart by them.
    """
    cdef Py_ssize_t n, v
    cdef int32_t c, previous = -1
    if grid.n_first == 0:
        return 0
    if grid.n_first < FIRST_VALUES:
        _guess_from_first(grid, table, scratch)
    if not grid.alive:
        return 0
    n = _distinct(grid, table, scratch)
    for v in range(n):
        c = <int32_t> ((scratch[v] - grid.low) * grid.inverse + 0.5)
        if c <= previous:
            return 0
        previous = c
    return previous + 1
