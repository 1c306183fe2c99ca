/* Where a sample differs from another, 64 values at a time.
 *
 * Jumping from one set bit to the next costs no more than there are bits, and no branch per value:
 * measured on images, three times as fast as comparing one by one.
 */
#ifndef NGDT_DIFFER_H
#define NGDT_DIFFER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define NGDT_STEP_F32 4
#define NGDT_STEP_F64 2
#define NGDT_DIFFER_F32(x, y) _mm_movemask_ps(_mm_cmpneq_ps(_mm_loadu_ps(x), _mm_loadu_ps(y)))
#define NGDT_DIFFER_F64(x, y) _mm_movemask_pd(_mm_cmpneq_pd(_mm_loadu_pd(x), _mm_loadu_pd(y)))
#else
#define NGDT_STEP_F32 1
#define NGDT_STEP_F64 1
#define NGDT_DIFFER_F32(x, y) (*(x) != *(y))
#define NGDT_DIFFER_F64(x, y) (*(x) != *(y))
#endif

/* Bit j of the result is x[j] != y[j]; 0 <= n <= 64. A NaN differs from everything. */
#define NGDT_DIFFER(NAME, T, STEP, COMPARE)                                                       \
    static inline uint64_t NAME(const T *x, const T *y, ptrdiff_t n)                              \
    {                                                                                             \
        uint64_t mask = 0;                                                                        \
        ptrdiff_t j = 0;                                                                          \
        for (; j + STEP <= n; j += STEP)                                                          \
            mask |= (uint64_t)COMPARE(x + j, y + j) << j;                                         \
        for (; j < n; j++)                                                                        \
            mask |= (uint64_t)(x[j] != y[j]) << j;                                                \
        return mask;                                                                              \
    }

NGDT_DIFFER(ngdt_differ_f32, float, NGDT_STEP_F32, NGDT_DIFFER_F32)
NGDT_DIFFER(ngdt_differ_f64, double, NGDT_STEP_F64, NGDT_DIFFER_F64)

#if defined(__GNUC__)
#define ngdt_lowest_bit(word) __builtin_ctzll(word)
#define NGDT_PREFETCH(address) __builtin_prefetch(address)
#define NGDT_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#include <intrin.h>
static __forceinline int ngdt_lowest_bit(uint64_t word)
{
    unsigned long bit;
    _BitScanForward64(&bit, word);
    return (int)bit;
}
#define NGDT_PREFETCH(address) _mm_prefetch((const char *)(address), _MM_HINT_T0)
#define NGDT_INLINE __forceinline
#endif

/* Eight bytes of memory as a word with the first one lowest. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ngdt_first_lowest(word) __builtin_bswap64(word)
#else
#define ngdt_first_lowest(word) (word)
#endif

/* Ask for the cache lines of [start, end). Has to be inlined: gcc takes a function that only
 * prefetches for one without effect, and drops the call. */
static NGDT_INLINE void ngdt_prefetch_range(const void *start, const void *end)
{
    uintptr_t line = (uintptr_t)start & ~(uintptr_t)63;
    for (; line < (uintptr_t)end; line += 64)
        NGDT_PREFETCH((const void *)line);
}

#endif
