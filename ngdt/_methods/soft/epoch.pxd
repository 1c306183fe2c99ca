from libc.stdint cimport int32_t

from ngdt._methods.soft.leaf_model cimport LeafModel, ngdt_adam
from ngdt._methods.soft.routing cimport Routing
from ngdt._core.threads cimport MiniBatchLoop, Step, Worker

cdef class SoftWorker(Worker):
    cdef float[:, ::1] gradient
    cdef float[::1] other       # a sample to mix with, scaled
    cdef ngdt_adam adam, leaf_adam
    cdef double batch_weight    # sum of the sample weights


cdef class SoftTrainer(MiniBatchLoop):
    # Constant in an epoch.
    cdef Routing routing
    cdef LeafModel model
    cdef const double[::1] sample_weight
    cdef double q
    cdef const float[:, ::1] mask
    cdef bint masked, refit_every_step
    cdef const int32_t[:, ::1] neighbour
    cdef double spatial_penalty, beta1, beta2, epsilon
    cdef public long long n_steps_before    # steps that the moments have seen
    cdef list workers               # one per thread
    cdef const double[::1] gamma, rate, keep, leaf_rate     # per step
    # Per place in the order; empty where samples are not mixed.
    cdef const int32_t[::1] partner
    cdef const float[::1] share
    # Per slot, written by visits.
    cdef float[::1] root_value
    cdef float[::1] grad_output     # minus the derivative of the loss in it
    cdef double[::1] slot_weight
    # Per node, written by the update task of its block.
    cdef float[:, ::1] w
    cdef float[:, ::1] first_moment
    cdef float[:, ::1] second_moment
    # Written by update task 0.
    cdef double sum_loss, sum_weight

    cdef int _n_node_tasks(self, Worker worker) noexcept nogil
    cdef void _count(self, int n, double batch_weight) noexcept nogil
    cdef double _loss(self, double value) noexcept nogil
    cdef void _move_task(self, SoftWorker worker, int task, int n) noexcept nogil
    cdef void _move_nodes(self, SoftWorker worker, int node, int n_nodes, int n) noexcept nogil
    cdef void _add_penalty(self, const float *w, float *gradient) noexcept nogil
    cdef void _move_leaves(
        self, SoftWorker worker, int first, int n_leaves, const Step *step) noexcept nogil
