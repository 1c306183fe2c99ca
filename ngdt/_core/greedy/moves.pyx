"""Lists of the samples of a node in ascending order of one feature, and the sorting for them.

A list holds what passes from the right to the left side of a split as its threshold grows, see
`Moves`. Where values were counted by grid point, it is the table of counts: its cost is that of the
table. Elsewhere the values are sorted, in time linear in their number: by intervals of equal width
and insertion or, where many share one, by radix.

What is sorted is a 64-bit word: 32 bits of key above the 32-bit number of an entry. All sorting is
stable, so equal keys keep the order of their entries.
"""

import numpy as np

cimport cython
from libc.math cimport isfinite
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from ngdt._core.greedy.columns cimport (
    BinnedColumns, Feature, count_t, ngdt_first_lowest, ngdt_lowest_bit)
from ngdt._core.greedy.criterion cimport REST, Criterion, Moves

cdef enum:
    MAX_INSERTION_LENGTH = 24   # measured: up to it, insertion sort is faster
    MAX_PAIRS = 8               # of values that share an interval, per value


cdef void _insertion_sort(uint64_t *keys, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef uint64_t word
    for i in range(1, n):
        # Only keys are compared, strictly: words with equal keys keep their order.
        word = keys[i]
        k = i
        while k > 0 and (keys[k - 1] >> 32) > (word >> 32):
            keys[k] = keys[k - 1]
            k -= 1
        keys[k] = word


cdef void sort_keys(uint64_t *keys, uint64_t *scratch, Py_ssize_t n) noexcept nogil:
    """Sort words by their upper halves."""
    cdef Py_ssize_t count[256]
    cdef Py_ssize_t i, k, digit, start, size
    cdef uint64_t varying = 0
    if n <= MAX_INSERTION_LENGTH:
        _insertion_sort(keys, n)
        return
    for i in range(n):
        varying |= keys[i] ^ keys[0]
    # Radix by bytes, from the lowest: each pass keeps the order of the one before. Bytes that all
    # keys share need no pass, and values of a feature share many.
    for digit in range(32, 64, 8):
        if not (varying >> digit) & 255:
            continue
        memset(count, 0, sizeof(count))
        for i in range(n):
            count[(keys[i] >> digit) & 255] += 1
        start = 0
        for k in range(256):
            # Counts become the place of the next word with this byte.
            size = count[k]
            count[k] = start
            start += size
        for i in range(n):
            k = (keys[i] >> digit) & 255
            scratch[count[k]] = keys[i]
            count[k] += 1
        # The caller, like the next pass, finds them where they were.
        memcpy(keys, scratch, n * sizeof(uint64_t))


cdef inline uint64_t _ordered_bits(double z) noexcept nogil:
    """The bits of z, changed so that they compare like numbers, and equal numbers are equal."""
    cdef uint64_t bits
    z += 0.0    # -0.0 becomes 0.0
    memcpy(&bits, &z, sizeof(bits))
    # Larger negative numbers have larger bits: all are flipped, and of others the sign alone.
    if bits >> 63:
        return ~bits
    return bits | (<uint64_t> 1 << 63)


cdef inline uint64_t _word(double z, Py_ssize_t e) noexcept nogil:
    """The upper half of the bits of z, above the number of its entry."""
    return (_ordered_bits(z) >> 32 << 32) | <uint64_t> e


cdef bint _sort_by_intervals(
    const double *z, uint64_t *order, uint64_t *scratch, Py_ssize_t n
) noexcept nogil:
    """Write words that list z by as many intervals of equal width as there are values.

    Return False if there are no such intervals, or too many values share one.
    """
    # The scratch of radix passes, which are not needed if this succeeds.
    cdef int32_t *end = <int32_t *> scratch     # of each interval, as far as it is filled
    cdef int32_t *interval = end + n            # of each value
    cdef double low = z[0], high = z[0], nan_if_any = 0.0, factor
    cdef Py_ssize_t i, k, size, position = 0, n_pairs = 0
    for i in range(n):
        low, high = min(low, z[i]), max(high, z[i])
        # Without a branch for each value.
        nan_if_any += z[i] - z[i]   # infinities count as well
    # As many intervals as values: evenly spread values then have one each, and are sorted by the
    # two passes below. Clusters would make the last step quadratic, hence `MAX_PAIRS`.
    factor = (n - 1) / (high - low)
    if not isfinite(high - low + factor + nan_if_any):
        return False
    memset(end, 0, n * sizeof(int32_t))
    for i in range(n):
        interval[i] = <int32_t> ((z[i] - low) * factor)
        end[interval[i]] += 1
    for k in range(n):
        size = end[k]
        end[k] = <int32_t> position
        position += size
        # What the insertion sort, which follows, compares at most.
        n_pairs += size * size
    if n_pairs > MAX_PAIRS * n:
        return False
    for i in range(n):
        # In the order of the entries, so that this is stable, too.
        order[end[interval[i]]] = _word(z[i], i)
        end[interval[i]] += 1
    return True


cdef Py_ssize_t _enough(
    const Moves *moves, Py_ssize_t m, int step, Py_ssize_t least, Py_ssize_t n_rest, double unit
) noexcept nogil:
    """The move, from m on, with which there are at least so many samples.

    A move has one sample, all that were not listed, or those of a cell, by their unit of weight.
    """
    cdef Py_ssize_t n_samples = 0
    while 0 <= m < moves.n:
        if moves.item[m] == REST:
            n_samples += n_rest
        else:
            n_samples += <Py_ssize_t> (moves.amount[m] / unit + 0.5) if unit > 0.0 else 1
        if n_samples >= least:
            break
        m += step
    return m


@cython.final
cdef class MoveList:
    """A list of moves, and the buffers to sort it.

    Parameters
    ----------
    n : int
        Most moves in a list.
    n_samples : int
        Most values that are sorted.
    sample_weight : float
        Weight of each sample, if they are all the same; else NaN, and values must not be counted
        by grid point where `min_samples_leaf` is above 1.
    """

    def __init__(self, Py_ssize_t n, Py_ssize_t n_samples, double sample_weight):
        self.min_samples_leaf, self.sample_weight = 1, sample_weight
        cdef double[::1] z = np.empty(n)
        cdef double[::1] amount = np.empty(n)
        cdef int32_t[::1] item = np.empty(n, dtype=np.int32)
        self._buffers = z, amount, item
        if n:
            self.moves.z, self.moves.amount, self.moves.item = &z[0], &amount[0], &item[0]
        # Allocated once: a tree may have thousands of nodes, and each sorts many features.
        self.order = np.empty(n_samples, dtype=np.uint64)
        self._scratch = np.empty(n_samples, dtype=np.uint64)

    cdef void sort(self, const double *z, Py_ssize_t n) noexcept nogil:
        """Write the positions of z in ascending order to the lower halves of `order`.

        Numbers are sorted by the upper half of their bits first; the lower half is looked at only
        where the upper ones are equal, which are mostly repetitions of one number.
        """
        cdef uint64_t *order = &self.order[0]
        cdef uint64_t *scratch = &self._scratch[0]
        cdef Py_ssize_t i, start = 0, end
        cdef uint64_t upper
        if n > MAX_INSERTION_LENGTH and _sort_by_intervals(z, order, scratch, n):
            # Words are out of order within their intervals only, a few places off.
            _insertion_sort(order, n)
        else:
            for i in range(n):
                order[i] = _word(z[i], i)
            sort_keys(order, scratch, n)
        while start < n:
            upper = order[start] >> 32
            end = start + 1
            while end < n and order[end] >> 32 == upper:
                end += 1
            if end - start > 1:
                for i in range(start, end):
                    # Now the lower half is the key. The upper one is the same, and needs no room.
                    order[i] = (_ordered_bits(z[<uint32_t> order[i]]) << 32) | <uint32_t> order[i]
                sort_keys(order + start, scratch, end - start)
            start = end

    cdef void list_all(self, const double *z, Py_ssize_t n, Criterion criterion) noexcept nogil:
        """List one number per sample of the node."""
        cdef Py_ssize_t i, e
        self.sort(z, n)
        for i in range(n):
            e = <uint32_t> self.order[i]
            self.put(i, z[e], criterion.tag[e], criterion.amount[e])
        self.moves.n = n
        self.moves.has_rest = False
        self._set_range(0, False)

    cdef void list_feature(
        self, BinnedColumns columns, Py_ssize_t j, const Feature *feature, Py_ssize_t n,
        Criterion criterion
    ) noexcept nogil:
        """List feature j of the block that was read last, for the n samples of the node."""
        cdef unsigned char *cells = &columns.cells[0]
        cdef Py_ssize_t n_tags = criterion.tally.n
        if not feature.counted:
            self._list_sorted(columns, j, feature, n, criterion)
        elif criterion.tally.whole:
            self._list_counted(<int32_t *> cells + feature.base, columns, j, feature, n, n_tags)
        else:
            self._list_counted(<double *> cells + feature.base, columns, j, feature, n, n_tags)
        self._set_range(n - feature.count, feature.counted)

    cdef void _set_range(self, Py_ssize_t n_rest, bint counted) noexcept nogil:
        """Find the moves behind which a threshold leaves enough samples on both sides."""
        cdef Moves *moves = &self.moves
        cdef double unit = self.sample_weight if counted else 0.0
        cdef Py_ssize_t least = self.min_samples_leaf
        moves.first, moves.end = 0, moves.n - 1
        if least > 1:
            # From both ends: in the middle, all thresholds leave enough on both sides.
            moves.first = _enough(moves, 0, 1, least, n_rest, unit)
            moves.end = _enough(moves, moves.n - 1, -1, least, n_rest, unit)

    cdef void _list_counted(
        self, count_t *cells, BinnedColumns columns, Py_ssize_t j, const Feature *feature,
        Py_ssize_t n, Py_ssize_t n_tags
    ) noexcept nogil:
        """List the counts of feature j, and set them back to 0."""
        cdef unsigned char *seen = &columns.seen[feature.base_point]
        cdef Py_ssize_t first, point, tag, m = 0, rest = 0
        cdef bint waiting = feature.count < n
        cdef count_t *cell
        cdef uint64_t word
        self.moves.has_rest = waiting
        if waiting:
            rest = columns.point(j, columns.skip[j])
        # Eight points at a time: where few of many points were seen, most words are zero.
        for first in range(0, columns.steps[j], 8):
            word = ngdt_first_lowest((<uint64_t *> (seen + first))[0])
            # Cleared on the way: what is not seen is zero, so that nothing else has to be.
            (<uint64_t *> (seen + first))[0] = 0
            while word:
                point = first + ngdt_lowest_bit(word) // 8
                word &= word - 1
                # Samples that were not listed come at their place in the order, all at once.
                if waiting and point > rest:
                    waiting = False
                    m = self.put(m, rest, REST, 0.0)
                cell = cells + point * n_tags
                for tag in range(n_tags):
                    if cell[tag]:
                        m = self.put(m, point, tag, cell[tag])
                        # While it is in the cache: the next block expects zeros.
                        cell[tag] = 0
        if waiting:
            m = self.put(m, rest, REST, 0.0)
        self.moves.n = m

    cdef void _list_sorted(
        self, BinnedColumns columns, Py_ssize_t j, const Feature *feature, Py_ssize_t n,
        Criterion criterion
    ) noexcept nogil:
        """List the entries of feature j in ascending order, those that were skipped as one."""
        cdef const double *z = &columns.z[feature.base]
        cdef const int32_t *position = &columns.position[feature.base]
        cdef Py_ssize_t i, e, m = 0
        cdef bint waiting = feature.count < n
        cdef double skip = columns.skip[j]
        # Points of a grid are whole numbers of few bits: fewer passes than for the values.
        if columns.steps[j]:
            for i in range(feature.count):
                self.order[i] = <uint64_t> columns.point(j, z[i]) << 32
                self.order[i] |= <uint64_t> i
            sort_keys(&self.order[0], &self._scratch[0], feature.count)
        else:
            self.sort(z, feature.count)
        self.moves.has_rest = waiting
        for i in range(feature.count):
            e = <uint32_t> self.order[i]
            if waiting and z[e] > skip:
                waiting = False
                m = self.put(m, skip, REST, 0.0)
            m = self.put(
                m, z[e], criterion.tag[position[e]], criterion.amount[position[e]])
        if waiting:
            m = self.put(m, skip, REST, 0.0)
        self.moves.n = m
