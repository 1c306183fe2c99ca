from libc.stdint cimport int32_t

cdef extern from "soft.h" nogil:
    ctypedef struct ngdt_adam:
        float rate
        float keep
        float beta1
        float beta2
        float epsilon
    void ngdt_adam_step(const ngdt_adam *adam, const float *gradient, Py_ssize_t n, float *w,
                        float *first, float *second) noexcept


cdef class LeafModel:
    cdef readonly int n_leaves
    cdef readonly object parameters     # probabilities of classes, or coefficients
    cdef readonly bint is_likelihood    # what `value` is; otherwise it is minus a loss
    # Linear leaves have rows of coefficients, as nodes have weights; other leaves have none.
    cdef int rows_per_leaf
    cdef float[:, ::1] coefficients     # (n_rows, n_features + 1), or probabilities
    cdef float[:, ::1] gradient         # shape of the coefficients
    cdef float[:, ::1] output           # (n_rows, batch_size): products; then derivatives in them

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil
    cdef void value(
        self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil
    cdef void accumulate(
        self, int leaf, const int32_t *slots, int first, int n, const float *grad_value
    ) noexcept nogil
    cdef void update(
        self, int leaf, double rate, double total, const ngdt_adam *adam) noexcept nogil
    cdef void m_step(self, int leaf) noexcept nogil
