"""Models of the targets in the leaves: classes, fitted by online EM, and losses, by Adam.

`value` and `accumulate` cost one operation per slot, or per slot and target. The M-step of a leaf
uses running means of h, what the leaf is responsible for of a sample, and of h times what the model
needs of the target: `accumulate` sums them over a mini-batch, `update` moves the running means
towards those of the mini-batch, and `m_step` fits the leaf to them.

For leaves that have a loss, V of a leaf is minus the loss of its prediction, so the loss of the
tree is the expected loss over the leaves, and M of a leaf is the sample weight times the
probability to get there. The gradient in the output f of a leaf is M times the derivative of the
loss in f. The Huber loss has kernels of its own, which compilers vectorise. All other losses are
called slot by slot.

Targets are read into slots by `read`, in visits, one slot per sample. All else of a leaf is written
in updates, by the task that the leaf belongs to.
"""

import numpy as np

from ngdt._core.regression_losses import HuberLoss

from libc.stdint cimport int32_t
from libc.string cimport memset

from ngdt._core.loss cimport Loss

cdef extern from "soft.h" nogil:
    void ngdt_gather(const float *table, const int32_t *label, Py_ssize_t n, int k,
                     float *out) noexcept
    void ngdt_sum_by_label(const int32_t *label, const float *x, Py_ssize_t n, int k,
                           float *sums) noexcept
    void ngdt_move_means(double rate, double total, const float *sums, const float *p,
                         Py_ssize_t n, float *mean) noexcept
    void ngdt_probabilities(double weight, const double *prior, const float *mean, Py_ssize_t n,
                            float *p) noexcept
    void ngdt_subtract_huber(float limit, const float *e, Py_ssize_t n, float *out) noexcept
    float ngdt_huber_gradient(
        float limit, const float *grad_value, Py_ssize_t n, float *e) noexcept

cdef enum:
    SLOTS_PER_PASS = 128    # slots whose residuals fit the stack

# Losses and their derivatives are held below this, so that sums of them fit float32.
cdef double MAX_TERM = 1e10


cdef class LeafModel:
    """Base class: model of the targets in each leaf. Subclasses override the kernels.

    `value` and `accumulate` take a list of n slots, or the n consecutive ones from `first` on
    where `slots` is NULL. The routing writes `output` before `value` is called, and reads it to
    compute `gradient` after `accumulate`, before `update`.
    """

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        pass

    cdef void value(
            self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil:
        """V of the leaf: the likelihoods of the targets, or minus their losses."""

    cdef void accumulate(
            self, int leaf, const int32_t *slots, int first, int n, const float *grad_value
    ) noexcept nogil:
        """Add what the update needs, for `grad_value`, M of the leaf."""

    cdef void update(
            self, int leaf, double rate, double total, const ngdt_adam *adam) noexcept nogil:
        """Use the sums of the mini-batch, whose sample weights sum to `total`, and forget them:
        move the running means towards it by the share `rate`, or take a step of Adam."""

    cdef void m_step(self, int leaf) noexcept nogil:
        """The parameters that fit the running means best."""


cdef class Categorical(LeafModel):
    """Probabilities of classes: Hehn et al. (2020), eq. 13.

    Parameters
    ----------
    parameters : ndarray of float32, shape (n_leaves, n_classes)
        Initial probabilities; changed in place.
    y : ndarray of float64, shape (n_samples, 1)
    prior : ndarray of shape (n_classes,)
    prior_weight : float
        Weight of the prior in each leaf, as a share of all samples.
    batch_size : int
    """

    cdef float[:, ::1] _mean        # running means of h
    cdef const double[:, ::1] y
    cdef double[::1] prior
    cdef double prior_weight
    cdef float[:, ::1] sums         # per leaf and class: of h, over the density
    cdef int32_t[::1] label         # per slot
    cdef int n_classes

    def __init__(self, parameters, y, prior, prior_weight, batch_size):
        self.is_likelihood = True
        self.n_leaves, self.n_classes = parameters.shape
        self.parameters = self.coefficients = parameters
        self._mean = np.zeros_like(parameters)
        self.sums = np.zeros_like(parameters)
        self.y, self.prior, self.prior_weight = y, prior, prior_weight
        self.label = np.zeros(batch_size, dtype=np.int32)

    @property
    def arrays(self):
        return [self.parameters, self._mean]

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        self.label[slot] = <int32_t> self.y[sample, 0]

    cdef void value(
            self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil:
        cdef const float *probability = &self.coefficients[leaf, 0]
        cdef int i
        if slots == NULL:
            ngdt_gather(probability, &self.label[first], n, self.n_classes, out)
        else:
            for i in range(n):
                out[i] = probability[self.label[slots[i]]]

    cdef void accumulate(
            self, int leaf, const int32_t *slots, int first, int n, const float *grad_value
    ) noexcept nogil:
        cdef float *sums = &self.sums[leaf, 0]
        cdef int i
        if slots == NULL:
            ngdt_sum_by_label(&self.label[first], grad_value, n, self.n_classes, sums)
        else:
            for i in range(n):
                sums[self.label[slots[i]]] += grad_value[i]

    cdef void update(
            self, int leaf, double rate, double total, const ngdt_adam *adam) noexcept nogil:
        # The density depends on the class only: times it here, once.
        ngdt_move_means(rate, total, &self.sums[leaf, 0], &self.coefficients[leaf, 0],
                        self.n_classes, &self._mean[leaf, 0])
        memset(&self.sums[leaf, 0], 0, self.n_classes * sizeof(float))

    cdef void m_step(self, int leaf) noexcept nogil:
        ngdt_probabilities(self.prior_weight, &self.prior[0], &self._mean[leaf, 0],
                           self.n_classes, &self.coefficients[leaf, 0])


cdef class LossLeaves(LeafModel):
    """Constants or linear functions, one per leaf and target.

    Parameters
    ----------
    parameters : ndarray of float32, shape (n_leaves * n_targets, 1 or n_features + 1)
        Initial coefficients in scaled feature space; changed in place. The last column is the
        intercept. Constant leaves have no other column.
    y : ndarray of float64, shape (n_samples, n_targets)
    loss : Loss
    penalty : float
        Factor of the squares of the slopes, which are added to the mean loss.
    batch_size : int
    """

    cdef const double[:, ::1] y
    cdef Loss loss
    cdef float limit        # of the Huber loss, 0 for all others
    cdef float penalty
    cdef int n_targets
    cdef float[:, ::1] first_moment
    cdef float[:, ::1] second_moment
    # per slot
    cdef int32_t[::1] sample
    cdef float[:, ::1] target           # (n_targets, batch_size)
    # Predictions of a leaf and what follows from them; a visit has a row per slot, an update one
    # per leaf.
    cdef double[:, ::1] slot_scratch
    cdef double[:, ::1] leaf_scratch

    def __init__(self, parameters, y, Loss loss, penalty, batch_size):
        n_rows, n_columns = parameters.shape
        self.n_targets = y.shape[1]
        self.n_leaves = n_rows // self.n_targets
        self.parameters = self.coefficients = parameters
        self.gradient = np.zeros_like(parameters)
        self.first_moment, self.second_moment = np.zeros((2, *parameters.shape), dtype=np.float32)
        self.rows_per_leaf = self.n_targets if n_columns > 1 else 0
        self.output = np.zeros((n_rows if n_columns > 1 else 0, batch_size), dtype=np.float32)
        self.y, self.loss, self.penalty = y, loss, penalty
        self.limit = loss.limit if type(loss) is HuberLoss else 0.0
        self.sample = np.zeros(batch_size, dtype=np.int32)
        self.target = np.zeros((self.n_targets, batch_size), dtype=np.float32)
        self.slot_scratch = np.zeros((batch_size, 2 * self.n_targets))
        self.leaf_scratch = np.zeros((self.n_leaves, 2 * self.n_targets))

    @property
    def arrays(self):
        return [self.parameters, self.first_moment, self.second_moment]

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        cdef int t
        self.sample[slot] = <int32_t> sample
        for t in range(self.n_targets):
            self.target[t, slot] = <float> self.y[sample, t]

    cdef void value(
            self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil:
        cdef float[SLOTS_PER_PASS] e
        cdef int start = 0, m, t
        if self.limit <= 0.0:
            self._general_value(leaf, slots, first, n, out)
            return
        memset(out, 0, n * sizeof(float))
        while start < n:
            m = min(<int> SLOTS_PER_PASS, n - start)
            for t in range(self.n_targets):
                self._residuals(leaf, t, slots, first, start, m, e)
                ngdt_subtract_huber(self.limit, e, m, out + start)
            start += m

    cdef void _residuals(
            self, int leaf, int t, const int32_t *slots, int first, int start, int n, float *e
    ) noexcept nogil:
        """Targets minus predictions for n slots, the first `start` ones skipped."""
        cdef int row = leaf * self.n_targets + t, i
        cdef const float *target = &self.target[t, 0]
        cdef const float *output
        cdef float constant = self.coefficients[row, 0]
        if slots != NULL:
            slots += start
            if self.rows_per_leaf > 0:
                output = &self.output[row, 0]
                for i in range(n):
                    e[i] = target[slots[i]] - output[slots[i]]
            else:
                for i in range(n):
                    e[i] = target[slots[i]] - constant
            return
        target += first + start
        if self.rows_per_leaf > 0:
            output = &self.output[row, first + start]
            for i in range(n):
                e[i] = target[i] - output[i]
        else:
            for i in range(n):
                e[i] = target[i] - constant

    cdef void accumulate(
            self, int leaf, const int32_t *slots, int first, int n, const float *grad_value
    ) noexcept nogil:
        cdef float[SLOTS_PER_PASS] e
        cdef float total
        cdef int start = 0, m, t, row, i, slot
        if self.limit <= 0.0:
            self._general_accumulate(leaf, slots, first, n, grad_value)
            return
        while start < n:
            m = min(<int> SLOTS_PER_PASS, n - start)
            for t in range(self.n_targets):
                row = leaf * self.n_targets + t
                self._residuals(leaf, t, slots, first, start, m, e)
                total = ngdt_huber_gradient(self.limit, grad_value + start, m, e)
                if self.rows_per_leaf == 0:
                    self.gradient[row, 0] += total
                    continue
                for i in range(m):
                    slot = slots[start + i] if slots != NULL else first + start + i
                    self.output[row, slot] = e[i]
            start += m

    cdef void _predict(self, int leaf, int slot, double *out) noexcept nogil:
        cdef int row = leaf * self.n_targets, t
        for t in range(self.n_targets):
            out[t] = (self.output[row + t, slot] if self.rows_per_leaf > 0
                      else self.coefficients[row + t, 0])

    cdef void _general_value(
            self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil:
        cdef int i, slot, k = self.n_targets
        cdef double *f
        for i in range(n):
            slot = slots[i] if slots != NULL else first + i
            f = &self.slot_scratch[slot, 0]
            self._predict(leaf, slot, f)
            self.loss.profile(f, k, f + k)
            out[i] = -<float> min(
                MAX_TERM, self.loss.largest(f + k, f + k, k, &self.y[self.sample[slot], 0]))

    cdef void _general_accumulate(
            self, int leaf, const int32_t *slots, int first, int n, const float *grad_value
    ) noexcept nogil:
        cdef int i, slot, t, row, k = self.n_targets
        cdef double *f = &self.leaf_scratch[leaf, 0]
        cdef float slope
        for i in range(n):
            slot = slots[i] if slots != NULL else first + i
            self._predict(leaf, slot, f)
            self.loss.gradient(f, k, &self.y[self.sample[slot], 0], f + k)
            for t in range(k):
                row = leaf * k + t
                slope = grad_value[i] * <float> max(-MAX_TERM, min(MAX_TERM, f[k + t]))
                if self.rows_per_leaf > 0:
                    self.output[row, slot] = slope
                else:
                    self.gradient[row, 0] += slope

    cdef void update(
            self, int leaf, double rate, double total, const ngdt_adam *adam) noexcept nogil:
        cdef Py_ssize_t n_columns = self.gradient.shape[1], j
        cdef float scale = <float> (1.0 / total)
        cdef int row
        cdef float *gradient
        cdef float *a
        for row in range(leaf * self.n_targets, (leaf + 1) * self.n_targets):
            gradient, a = &self.gradient[row, 0], &self.coefficients[row, 0]
            for j in range(n_columns):
                gradient[j] *= scale
            for j in range(n_columns - 1):
                gradient[j] += 2 * self.penalty * a[j]
            ngdt_adam_step(adam, gradient, n_columns, a, &self.first_moment[row, 0],
                           &self.second_moment[row, 0])
            memset(gradient, 0, n_columns * sizeof(float))
