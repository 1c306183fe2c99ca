from libc.stdint cimport int32_t

cdef extern from "barrier.h" nogil:
    ctypedef struct ngdt_threads:
        int size
    void ngdt_threads_init(ngdt_threads *threads, int size) noexcept
    int ngdt_threads_next_task(ngdt_threads *threads) noexcept
    int ngdt_threads_wait(ngdt_threads *threads) noexcept
    void ngdt_threads_abort(ngdt_threads *threads) noexcept


cdef struct Step:
    # One mini-batch: slots 0 to n - 1 hold the samples order[start], order[start + 1], ...
    Py_ssize_t number
    Py_ssize_t start
    int n


cdef class Worker:
    # Memory of one thread. Only that thread reads or writes it during an epoch.
    pass


cdef class MiniBatchLoop:
    cdef ngdt_threads threads
    cdef int batch_size
    cdef int samples_per_task
    cdef list workers               # one per thread
    cdef const int32_t[::1] order   # samples of the epoch
    cdef Py_ssize_t n_steps

    cdef object run(self, const int32_t[::1] order, Py_ssize_t n_steps)
    cdef void visit(
        self, Worker worker, const Step *step, int first, int stop) noexcept nogil
    cdef int begin_updates(self, Worker worker, const Step *step) noexcept nogil
    cdef void update(self, Worker worker, const Step *step, int task) noexcept nogil
