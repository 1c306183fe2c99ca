"""Sorting in linear time.

What is sorted is a 64-bit word: 32 bits of key above the 32-bit number of an entry. Radix sort is
stable, so equal keys keep the order of their entries.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    SHORT = 24      # measured: up to this length insertion is faster


cdef void sort_keys(uint64_t *keys, uint64_t *scratch, Py_ssize_t n) noexcept nogil:
    """Sort words by their upper halves."""
    cdef Py_ssize_t count[256]
    cdef Py_ssize_t i, k, digit, start, size
    cdef uint64_t word, varying = 0
    if n <= SHORT:
        for i in range(1, n):
            word = keys[i]
            k = i
            while k > 0 and (keys[k - 1] >> 32) > (word >> 32):
                keys[k] = keys[k - 1]
                k -= 1
            keys[k] = word
        return
    for i in range(n):
        varying |= keys[i] ^ keys[0]
    for digit in range(32, 64, 8):
        if not (varying >> digit) & 255:
            continue
        memset(count, 0, sizeof(count))
        for i in range(n):
            count[(keys[i] >> digit) & 255] += 1
        start = 0
        for k in range(256):
            size = count[k]
            count[k] = start
            start += size
        for i in range(n):
            k = (keys[i] >> digit) & 255
            scratch[count[k]] = keys[i]
            count[k] += 1
        memcpy(keys, scratch, n * sizeof(uint64_t))


cdef inline uint64_t _ordered_bits(double z) noexcept nogil:
    """The bits of z, changed so that they compare like numbers, and equal numbers are equal."""
    cdef uint64_t bits
    z += 0.0    # -0.0 becomes 0.0
    memcpy(&bits, &z, sizeof(bits))
    if bits >> 63:
        return ~bits
    return bits | (<uint64_t> 1 << 63)


cdef void sort_doubles(
    const double *z, uint64_t *order, uint64_t *scratch, Py_ssize_t n
) noexcept nogil:
    """Write words whose lower halves e list z[e] in ascending order.

    Numbers are sorted by the upper half of their bits first; the lower half is looked at only where
    the upper ones are equal.
    """
    cdef Py_ssize_t i, start, end
    cdef uint64_t upper
    for i in range(n):
        order[i] = (_ordered_bits(z[i]) >> 32 << 32) | <uint64_t> i
    sort_keys(order, scratch, n)
    start = 0
    while start < n:
        upper = order[start] >> 32
        end = start + 1
        while end < n and order[end] >> 32 == upper:
            end += 1
        if end - start > 1:
            for i in range(start, end):
                order[i] = (_ordered_bits(z[<uint32_t> order[i]]) << 32) | <uint32_t> order[i]
            sort_keys(order + start, scratch, end - start)
        start = end
