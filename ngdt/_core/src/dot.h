/* Products of samples with weights, and updates of weights by samples, each of which costs O(n); and
 * the elimination of a small matrix. None writes anything but its output.
 *
 * All functions sum in one fixed order: a fixed number of partial sums, added pairwise at the
 * end. With contraction off, the result has the same bits whichever clone the machine runs, and a
 * sample's score never depends on the batch it came in.
 *
 * Naming: <layout of x>_<type of x>_<type of w>. `indices` is NULL for dense samples; for sparse
 * ones it holds the column of each of the n stored values.
 */
#ifndef NGDT_DOT_H
#define NGDT_DOT_H

#include <stddef.h>
#include <stdint.h>

typedef double (*ngdt_dot)(const void *x, const int32_t *indices, ptrdiff_t n, const void *w);

double ngdt_dense_f32_f64(const void *x, const int32_t *indices, ptrdiff_t n, const void *w);
double ngdt_dense_f64_f64(const void *x, const int32_t *indices, ptrdiff_t n, const void *w);
double ngdt_dense_f32_f32(const void *x, const int32_t *indices, ptrdiff_t n, const void *w);
double ngdt_sparse_f32_f64(const void *x, const int32_t *indices, ptrdiff_t n, const void *w);
double ngdt_sparse_f64_f64(const void *x, const int32_t *indices, ptrdiff_t n, const void *w);
double ngdt_sparse_f32_f32(const void *x, const int32_t *indices, ptrdiff_t n, const void *w);

/* The same with sparse weights: n_w nonzeros of float64, in ascending columns. Each gives the bits
 * of its dense namesake above with the weights written out. `scattered` does so for a sparse sample
 * that is written out as float64. */
typedef double (*ngdt_dot_sparse)(const void *x, const int32_t *indices, ptrdiff_t n,
                                  const double *w, const int32_t *columns, ptrdiff_t n_w);

#define NGDT_DOT_SPARSE(NAME)                                                                     \
    double NAME(const void *x, const int32_t *indices, ptrdiff_t n, const double *w,              \
                const int32_t *columns, ptrdiff_t n_w)
NGDT_DOT_SPARSE(ngdt_dense_f32_sparse);
NGDT_DOT_SPARSE(ngdt_dense_f64_sparse);
NGDT_DOT_SPARSE(ngdt_scattered_sparse);

/* w += a * x; x and w float32, x dense or sparse (by indices). */
void ngdt_axpy_f32(float a, const float *x, const int32_t *indices, ptrdiff_t n, float *w);
/* w += a * x for float64 w and x of the type in the name. */
void ngdt_add_f32_f64(double a, const void *x, const int32_t *indices, ptrdiff_t n, double *w);
void ngdt_add_f64_f64(double a, const void *x, const int32_t *indices, ptrdiff_t n, double *w);
/* Of some rows of a dense matrix with p columns, `stride` apart: out[v] is the product of x[row[v]]
 * and w, plus an offset, for v < n. The bits are those of ngdt_dense_f32_f32. */
void ngdt_rows_times_f32(const float *x, ptrdiff_t stride, const int32_t *row, ptrdiff_t n,
                         const float *w, ptrdiff_t p, float offset, float *out);
/* w += a[v] * x[row[v]] for v < n, one after the other, but where a is zero. Adds all of a to *sum
 * likewise, and returns for how many a is not zero. */
ptrdiff_t ngdt_add_rows_f32(const float *a, const float *x, ptrdiff_t stride, const int32_t *row,
                            ptrdiff_t n, ptrdiff_t p, float *w, float *sum);
/* w *= a */
void ngdt_scale_f32(float a, ptrdiff_t n, float *w);
/* sum of squares */
double ngdt_norm2_f32(ptrdiff_t n, const float *w);
/* out = (x - center) * inverse for a dense sample; out is float32, the difference is taken in the
 * type of x, so that a float64 feature with a large offset keeps its digits. */
void ngdt_standardize_f32(const float *x, const float *center, const float *inverse, ptrdiff_t n,
                          float *out);
void ngdt_standardize_f64(const double *x, const double *center, const double *inverse,
                          ptrdiff_t n, float *out);
/* Gaussian elimination of the first q of the d rows of a symmetric matrix from those below them: of
 * those whose pivot is positive. Of the upper triangle; what lies below it is overwritten. `stride`,
 * from row to row, is the next multiple of 8 from d on. */
void ngdt_eliminate(ptrdiff_t d, ptrdiff_t q, ptrdiff_t stride, double *a);

#endif
