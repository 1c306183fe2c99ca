cdef extern from "barrier.h" nogil:
    ctypedef struct ngdt_threads:
        int size
    void ngdt_threads_init(ngdt_threads *team, int size) noexcept
    int ngdt_threads_next_task(ngdt_threads *team) noexcept
    int ngdt_threads_wait(ngdt_threads *team) noexcept
    void ngdt_threads_abort(ngdt_threads *team) noexcept
