from libc.stdint cimport int32_t

from ngdt._core.search cimport LeafBounds, Search, Topology
from ngdt._core.loss cimport Loss
from ngdt._core.samples cimport Sample
from ngdt._core.threads cimport Worker

cdef struct Slot:
    # What one sample of a mini-batch contributes.
    Sample x                    # standardised
    double sample_weight
    int n_updates               # nodes whose weights it moves
    int leaf                    # that it reaches
    int augmented_leaf          # whose values it moves
    int n_scored                # dot products that its search took
    double loss
    double bound


cdef class Batch:
    # Memory of a mini-batch. Visits write it, each its own slots; updates read it.
    cdef int max_updates                # per slot
    cdef object _slots
    cdef Slot *slots
    cdef float[:, ::1] x                # per slot: stored values of the sample
    cdef double[:, ::1] loss_gradient   # per slot: in the values of the augmented leaf
    cdef int32_t[:, ::1] update_node    # per slot and update
    cdef double[:, ::1] update_size     # what the sample is multiplied with in the gradient


cdef class SGDWorker(Worker):
    cdef Search search
    # Lists of the updates of each node, in the order of the slots.
    cdef int32_t[::1] first     # per node: first update of the mini-batch, -1 if none
    cdef int32_t[::1] last
    cdef int32_t[::1] next      # per update: the next one of the same node
    cdef int32_t[::1] touched   # nodes with updates, in order of first touch
    cdef int n_touched

    cdef void list_updates(self, Batch batch, int n) noexcept nogil


cdef class TrainedTree:
    cdef Topology topology
    cdef Loss loss
    # Parameters of the tree, the arrays and their views. Visits read them. Of weights and
    # thresholds, update tasks write one node each; values, bounds and sums are one task.
    cdef readonly object weights, thresholds, values
    cdef float[:, ::1] w
    cdef double[::1] b
    cdef double[:, ::1] leaf_values
    cdef LeafBounds bounds
    # Sums over the mini-batch, by leaf; zero between mini-batches.
    cdef double[:, ::1] leaf_gradient
    cdef double[::1] leaf_weight
    cdef int32_t[::1] touched_leaves
    # Constant in training.
    cdef readonly double nu, leaf_limit, max_leaf_step
    cdef Py_ssize_t n_features
    cdef int n_outputs

    cdef Search new_search(self)
    cdef void move_node(
        self, Batch batch, SGDWorker worker, int node, double rate) noexcept nogil
    cdef void move_leaves(self, Batch batch, int n, double rate) noexcept nogil
    cdef void _project(self, int node) noexcept nogil
