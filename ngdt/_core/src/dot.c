#include "dot.h"

/* Function multiversioning picks the AVX2 clone at load time; wheels stay baseline x86-64.
 * GCC 11 has no dispatcher for x86-64-v3, and musl does not resolve such functions. The thread
 * sanitizer crashes in those that resolve them. NGDT_PLAIN is for tools/same_bits.sh. */
#if __GNUC__ >= 12 && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) \
    && !defined(__SANITIZE_THREAD__) && !defined(NGDT_PLAIN)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define CLONES
#endif

/* Four vectors of partial sums hide the latency of an addition. GCC and clang lower these 32-byte
 * vectors to pairs of SSE registers where there is no AVX: other instructions, the same sums. */
typedef double v4d __attribute__((vector_size(32)));
typedef float v8f __attribute__((vector_size(32)));
typedef double v4d_any __attribute__((vector_size(32), aligned(8), may_alias));
typedef float v4f_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float v8f_any __attribute__((vector_size(32), aligned(4), may_alias));

#define LOAD_F64(p) (*(const v4d_any *)(p))
#define LOAD_F32(p) (*(const v8f_any *)(p))
#define WIDEN_F32(p) __builtin_convertvector(*(const v4f_any *)(p), v4d)
#define ADD4(v) ((v[0] + v[2]) + (v[1] + v[3]))
#define ADD8(v) (((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])))

#define DENSE_DOT(NAME, TX, TW, VECTOR, STEP, LOAD_X, LOAD_W, ADD)                                \
    CLONES double NAME(const void *x_, const int32_t *indices, ptrdiff_t n, const void *w_)       \
    {                                                                                             \
        const TX *x = (const TX *)x_;                                                             \
        const TW *w = (const TW *)w_;                                                             \
        VECTOR a = {0}, b = {0}, c = {0}, d = {0};                                                \
        double rest = 0.0;                                                                        \
        ptrdiff_t j = 0;                                                                          \
        (void)indices;                                                                            \
        for (; j + 4 * STEP <= n; j += 4 * STEP) {                                                \
            a += LOAD_X(x + j) * LOAD_W(w + j);                                                   \
            b += LOAD_X(x + j + STEP) * LOAD_W(w + j + STEP);                                     \
            c += LOAD_X(x + j + 2 * STEP) * LOAD_W(w + j + 2 * STEP);                             \
            d += LOAD_X(x + j + 3 * STEP) * LOAD_W(w + j + 3 * STEP);                             \
        }                                                                                         \
        for (; j + STEP <= n; j += STEP)                                                          \
            a += LOAD_X(x + j) * LOAD_W(w + j);                                                   \
        for (; j < n; j++)                                                                        \
            rest += (double)x[j] * (double)w[j];                                                  \
        a = (a + c) + (b + d);                                                                    \
        return (double)ADD(a) + rest;                                                             \
    }

DENSE_DOT(ngdt_dense_f64_f64, double, double, v4d, 4, LOAD_F64, LOAD_F64, ADD4)
DENSE_DOT(ngdt_dense_f32_f64, float, double, v4d, 4, WIDEN_F32, LOAD_F64, ADD4)
DENSE_DOT(ngdt_dense_f32_f32, float, float, v8f, 8, LOAD_F32, LOAD_F32, ADD8)

/* Gathers dominate here: plain double sums in storage order. */
#define SPARSE_DOT(NAME, TX, TW)                                                                  \
    double NAME(const void *x_, const int32_t *indices, ptrdiff_t n, const void *w_)              \
    {                                                                                             \
        const TX *x = (const TX *)x_;                                                             \
        const TW *w = (const TW *)w_;                                                             \
        double sum = 0.0;                                                                         \
        for (ptrdiff_t j = 0; j < n; j++)                                                         \
            sum += (double)x[j] * (double)w[indices[j]];                                          \
        return sum;                                                                               \
    }

SPARSE_DOT(ngdt_sparse_f64_f64, double, double)
SPARSE_DOT(ngdt_sparse_f32_f64, float, double)
SPARSE_DOT(ngdt_sparse_f32_f32, float, float)

/* Weights of which only the nonzeros are stored. A product with a zero changes no partial sum (none
 * is ever -0.0), so what is skipped here does not show: the bits are those of the dense loops. */

/* Each product goes to the partial sum that the dense loop adds it to. That of an axis-aligned
 * split needs none, and sets none to zero. An initializer would be an instruction that takes as long
 * as a product of twenty weights. */
#define DENSE_DOT_SPARSE(NAME, TX)                                                                \
    double NAME(const void *x_, const int32_t *indices, ptrdiff_t n, const double *w,             \
                const int32_t *columns, ptrdiff_t n_w)                                            \
    {                                                                                             \
        const TX *x = (const TX *)x_;                                                             \
        (void)indices;                                                                            \
        if (n_w == 1)                                                                             \
            return 0.0 + (double)x[columns[0]] * w[0];                                            \
        double sum[16], rest = 0.0;                                                               \
        const ptrdiff_t end16 = n & ~(ptrdiff_t)15, end4 = n & ~(ptrdiff_t)3;                     \
        ptrdiff_t k = 0;                                                                          \
        for (int lane = 0; lane < 16; lane += 4)                                                  \
            *(v4d_any *)(sum + lane) = (v4d){0.0};                                                \
        for (; k < n_w && columns[k] < end16; k++)                                                \
            sum[columns[k] & 15] += (double)x[columns[k]] * w[k];                                 \
        for (; k < n_w && columns[k] < end4; k++)                                                 \
            sum[columns[k] & 3] += (double)x[columns[k]] * w[k];                                  \
        for (; k < n_w; k++)                                                                      \
            rest += (double)x[columns[k]] * w[k];                                                 \
        for (int lane = 0; lane < 4; lane++)                                                      \
            sum[lane] = (sum[lane] + sum[lane + 8]) + (sum[lane + 4] + sum[lane + 12]);           \
        return ADD4(sum) + rest;                                                                  \
    }

DENSE_DOT_SPARSE(ngdt_dense_f64_sparse, double)
DENSE_DOT_SPARSE(ngdt_dense_f32_sparse, float)

double ngdt_scattered_sparse(const void *x_, const int32_t *indices, ptrdiff_t n, const double *w,
                             const int32_t *columns, ptrdiff_t n_w)
{
    const double *x = (const double *)x_;
    double sum = 0.0;
    (void)indices;
    (void)n;
    for (ptrdiff_t k = 0; k < n_w; k++)
        sum += x[columns[k]] * w[k];
    return sum;
}

CLONES static void axpy_dense(float a, const float *restrict x, ptrdiff_t n, float *restrict w)
{
    for (ptrdiff_t j = 0; j < n; j++)
        w[j] += a * x[j];
}

void ngdt_axpy_f32(float a, const float *x, const int32_t *indices, ptrdiff_t n, float *w)
{
    if (indices == NULL) {
        axpy_dense(a, x, n, w);
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        w[indices[j]] += a * x[j];
}

/* Two rows share each load of the weights, and wait for their additions together. */
CLONES void ngdt_rows_times_f32(const float *x, ptrdiff_t stride, const int32_t *row, ptrdiff_t n,
                                const float *w, ptrdiff_t p, float offset, float *out)
{
    ptrdiff_t v = 0;
    for (; v + 2 <= n; v += 2) {
        const float *x0 = x + row[v] * stride, *x1 = x + row[v + 1] * stride;
        v8f a0 = {0}, b0 = {0}, c0 = {0}, d0 = {0}, a1 = {0}, b1 = {0}, c1 = {0}, d1 = {0};
        double rest0 = 0.0, rest1 = 0.0;
        ptrdiff_t j = 0;
        for (; j + 32 <= p; j += 32) {
            v8f wa = LOAD_F32(w + j), wb = LOAD_F32(w + j + 8);
            v8f wc = LOAD_F32(w + j + 16), wd = LOAD_F32(w + j + 24);
            a0 += LOAD_F32(x0 + j) * wa;
            a1 += LOAD_F32(x1 + j) * wa;
            b0 += LOAD_F32(x0 + j + 8) * wb;
            b1 += LOAD_F32(x1 + j + 8) * wb;
            c0 += LOAD_F32(x0 + j + 16) * wc;
            c1 += LOAD_F32(x1 + j + 16) * wc;
            d0 += LOAD_F32(x0 + j + 24) * wd;
            d1 += LOAD_F32(x1 + j + 24) * wd;
        }
        for (; j + 8 <= p; j += 8) {
            a0 += LOAD_F32(x0 + j) * LOAD_F32(w + j);
            a1 += LOAD_F32(x1 + j) * LOAD_F32(w + j);
        }
        for (; j < p; j++) {
            rest0 += (double)x0[j] * (double)w[j];
            rest1 += (double)x1[j] * (double)w[j];
        }
        a0 = (a0 + c0) + (b0 + d0);
        a1 = (a1 + c1) + (b1 + d1);
        out[v] = (float)(((double)ADD8(a0) + rest0) + (double)offset);
        out[v + 1] = (float)(((double)ADD8(a1) + rest1) + (double)offset);
    }
    if (v < n)
        out[v] = (float)(ngdt_dense_f32_f32(x + row[v] * stride, NULL, p, w) + (double)offset);
}

/* Four rows at once, so that the sums are read and written once for them. */
CLONES static void add_four(const float *a, const float *restrict x0, const float *restrict x1,
                            const float *restrict x2, const float *restrict x3, ptrdiff_t p,
                            float *restrict w)
{
    for (ptrdiff_t j = 0; j < p; j++)
        w[j] = (((w[j] + a[0] * x0[j]) + a[1] * x1[j]) + a[2] * x2[j]) + a[3] * x3[j];
}

ptrdiff_t ngdt_add_rows_f32(const float *a, const float *x, ptrdiff_t stride, const int32_t *row,
                            ptrdiff_t n, ptrdiff_t p, float *w, float *sum)
{
    const float *rows[4];
    float size[4];
    ptrdiff_t waiting = 0, used = 0;
    for (ptrdiff_t v = 0; v < n; v++) {
        size[waiting] = a[v];
        rows[waiting] = x + row[v] * stride;
        if (a[v] == 0.0f)
            continue;
        *sum += a[v];
        used++;
        if (++waiting == 4) {
            add_four(size, rows[0], rows[1], rows[2], rows[3], p, w);
            waiting = 0;
        }
    }
    for (ptrdiff_t v = 0; v < waiting; v++)
        axpy_dense(size[v], rows[v], p, w);
    return used;
}

#define ADD_ROW(NAME, TX)                                                                         \
    CLONES static void NAME##_dense(double a, const TX *restrict x, ptrdiff_t n,                  \
                                    double *restrict w)                                           \
    {                                                                                             \
        for (ptrdiff_t j = 0; j < n; j++)                                                         \
            w[j] += a * x[j];                                                                     \
    }                                                                                             \
    void NAME(double a, const void *x_, const int32_t *indices, ptrdiff_t n, double *w)           \
    {                                                                                             \
        const TX *x = (const TX *)x_;                                                             \
        if (indices == NULL) {                                                                    \
            NAME##_dense(a, x, n, w);                                                             \
            return;                                                                               \
        }                                                                                         \
        for (ptrdiff_t j = 0; j < n; j++)                                                         \
            w[indices[j]] += a * x[j];                                                            \
    }

ADD_ROW(ngdt_add_f32_f64, float)
ADD_ROW(ngdt_add_f64_f64, double)

CLONES void ngdt_scale_f32(float a, ptrdiff_t n, float *w)
{
    for (ptrdiff_t j = 0; j < n; j++)
        w[j] *= a;
}

double ngdt_norm2_f32(ptrdiff_t n, const float *w)
{
    return ngdt_dense_f32_f32(w, NULL, n, w);
}

CLONES void ngdt_standardize_f32(const float *restrict x, const float *restrict center,
                                 const float *restrict inverse, ptrdiff_t n, float *restrict out)
{
    for (ptrdiff_t j = 0; j < n; j++)
        out[j] = (x[j] - center[j]) * inverse[j];
}

CLONES void ngdt_standardize_f64(const double *restrict x, const double *restrict center,
                                 const double *restrict inverse, ptrdiff_t n, float *restrict out)
{
    for (ptrdiff_t j = 0; j < n; j++)
        out[j] = (float)((x[j] - center[j]) * inverse[j]);
}

CLONES void ngdt_eliminate(ptrdiff_t d, ptrdiff_t q, ptrdiff_t stride, double *a)
{
    for (ptrdiff_t i = 1; i < d; i++) {
        double *row = a + i * stride;
        const ptrdiff_t n_above = i < q ? i : q;
        for (ptrdiff_t c = 0; c < n_above; c++)
            row[c] = a[c * stride + i] / a[c * stride + c];
        /* Eight columns stay in registers until all rows above are subtracted. The factors are read
         * to the end: the columns of the last of them come last. */
        for (ptrdiff_t j = stride - 8; j >= (i & ~(ptrdiff_t)7); j -= 8) {
            v4d low = LOAD_F64(row + j), high = LOAD_F64(row + j + 4);
            for (ptrdiff_t c = 0; c < n_above; c++) {
                const double *above = a + c * stride;
                if (above[c] > 0.0) {
                    low -= row[c] * LOAD_F64(above + j);
                    high -= row[c] * LOAD_F64(above + j + 4);
                }
            }
            *(v4d_any *)(row + j) = low;
            *(v4d_any *)(row + j + 4) = high;
        }
    }
}
