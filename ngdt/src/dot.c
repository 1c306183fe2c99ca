#include "dot.h"

/* Function multiversioning picks the AVX2 clone at load time; wheels stay baseline x86-64. */
/* GCC 11 has no dispatcher for x86-64-v3, and musl does not resolve such functions. The thread
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
typedef float v4f __attribute__((vector_size(16)));
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
 * split needs none. */
#define DENSE_DOT_SPARSE(NAME, TX)                                                                \
    double NAME(const void *x_, const int32_t *indices, ptrdiff_t n, const double *w,             \
                const int32_t *columns, ptrdiff_t n_w)                                            \
    {                                                                                             \
        const TX *x = (const TX *)x_;                                                             \
        double sum[16] = {0.0}, rest = 0.0;                                                       \
        const ptrdiff_t end16 = n & ~(ptrdiff_t)15, end4 = n & ~(ptrdiff_t)3;                     \
        ptrdiff_t k = 0;                                                                          \
        (void)indices;                                                                            \
        if (n_w == 1)                                                                             \
            return 0.0 + (double)x[columns[0]] * w[0];                                            \
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
