from libc.stdint cimport int32_t


cdef class LeafModel:
    # p(y | leaf), and the running means from which it is fitted.
    cdef readonly int n_leaves
    cdef readonly object parameters     # probabilities of classes, or means of targets
    cdef float[:, ::1] _parameters
    cdef float[:, ::1] _mean            # responsibility per sample, times what it is summed with
    cdef double prior_weight

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil
    cdef void density(
        self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil
    cdef void reset(self, int leaf) noexcept nogil
    cdef void accumulate(
        self, int leaf, const int32_t *slots, int first, int n, const float *grad_value
    ) noexcept nogil
    cdef void update_mean(self, int leaf, double rate, double total) noexcept nogil
    cdef void m_step(self, int leaf) noexcept nogil
