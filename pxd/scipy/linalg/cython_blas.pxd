# What is used of SciPy's declarations. Its package is not needed to build with these at hand; when
# a module is imported, Cython compares them with the SciPy that is installed.
ctypedef float s
ctypedef double d

cdef void daxpy(int *n, d *da, d *dx, int *incx, d *dy, int *incy) noexcept nogil
cdef d ddot(int *n, d *dx, int *incx, d *dy, int *incy) noexcept nogil
cdef void dgemm(
    char *transa, char *transb, int *m, int *n, int *k, d *alpha, d *a, int *lda, d *b, int *ldb,
    d *beta, d *c, int *ldc
) noexcept nogil
cdef void dgemv(
    char *trans, int *m, int *n, d *alpha, d *a, int *lda, d *x, int *incx, d *beta, d *y, int *incy
) noexcept nogil
cdef void dsyrk(
    char *uplo, char *trans, int *n, int *k, d *alpha, d *a, int *lda, d *beta, d *c, int *ldc
) noexcept nogil
cdef void sgemm(
    char *transa, char *transb, int *m, int *n, int *k, s *alpha, s *a, int *lda, s *b, int *ldb,
    s *beta, s *c, int *ldc
) noexcept nogil
