"""The step of a linear model that minimises a penalised log loss, by L-BFGS (Liu & Nocedal 1989).

Models of nodes are small, and a forest fits tens of thousands of them: SciPy's minimiser took three
times as long as the loss and its gradient do.
"""

import numpy as np

from libc.math cimport exp, fabs, log
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemm, dgemv

cdef enum:
    MEMORY = 10                 # pairs of steps and changes of the gradient
    SLOTS = MEMORY + 1          # so that a step that makes no pair takes the place of none
    MAX_HALVINGS = 40
cdef double SUFFICIENT = 1e-4   # share of the slope by which the loss must fall
cdef double ROUNDING = 1e-14    # share of the loss within which losses count as equal


cdef void multiply(
        const double *x, int n_rows, const double[:, ::1] a, bint transpose_a, double add,
        double *product) noexcept nogil:
    """product = x a or x a', and `add` times what is in it."""
    # BLAS takes arrays for column-major: of each, the transpose is given.
    cdef int m = <int> a.shape[1], k = <int> a.shape[0], every = 1
    cdef double one = 1.0
    cdef char *transpose = b"T" if transpose_a else b"N"
    if n_rows == 1:     # as a product of matrices, it would copy a
        dgemv(transpose, &m, &k, &one, <double *> &a[0, 0], &m, <double *> x, &every, &add,
              product, &every)
    elif transpose_a:
        dgemm(transpose, b"N", &k, &n_rows, &m, &one, <double *> &a[0, 0], &m, <double *> x, &m,
              &add, product, &k)
    else:
        dgemm(transpose, b"N", &m, &n_rows, &k, &one, <double *> &a[0, 0], &m, <double *> x, &k,
              &add, product, &m)


def minimise_log_loss(
        Z, start, y, weight, ridge, times, whiten, *, tol, max_steps, deadline):
    """Coefficients b that minimise the log loss of the scores start + b Z', with a penalty.

    Parameters
    ----------
    Z : ndarray of float64, shape (n, q)
    start : ndarray of float64, shape (n_classes, n)
    y : ndarray of intp, shape (n,)
        Classes.
    weight : ndarray of float64, shape (n,)
    ridge : ndarray of float64, shape (q,)
        The penalty is half of the squares times these.
    times : ndarray of float64, shape (n_rows,)
        How often the penalty of each class counts. These are the last classes: of two, only one
        moves.
    whiten : ndarray of float64, shape (q, q) or (1, q)
        The search is for x with b = x whiten, best so that the curvature is about 1 in each
        direction; of a diagonal matrix, the diagonal.
    tol : float
        Largest gradient in x that ends the search.
    max_steps : int
    deadline : Deadline
        Ends the search after a step.

    Returns
    -------
    ndarray of float64, shape (n_rows, q)
    """
    cdef _Search search = _Search(Z, start, y, weight, ridge, times, whiten)
    cdef double enough = tol
    cdef int most = max_steps, _step
    cdef bint is_timed = deadline.is_set
    with nogil:
        search.loss = search.loss_and_gradient()
        for _step in range(most):
            if search.largest_gradient() <= enough or not search.take_step():
                break
            if is_timed:
                with gil:
                    if not deadline.fits():
                        break
    search.whiten_by(search.x, False, search.b)     # the last step tried may have been too long
    return search.b.base


cdef class _Search:
    """The state of a search, with memory for its steps."""

    cdef const double[:, ::1] Z, start, whiten
    cdef const double[::1] weight, ridge, times
    cdef const Py_ssize_t[::1] y
    cdef double[:, ::1] x, b, gradient, gradient_b, scores
    cdef double[:, ::1] x_before, gradient_before, direction
    cdef double[:, ::1] steps, changes      # the newest one replaces the oldest
    cdef double[::1] largest, total, product, alpha
    cdef double loss
    cdef int size, n_pairs

    def __init__(self, Z, start, y, weight, ridge, times, whiten):
        shape = len(times), Z.shape[1]
        self.Z, self.start, self.y, self.weight = Z, start, y, weight
        self.ridge, self.times, self.whiten = ridge, times, whiten
        self.x = np.zeros(shape)
        self.b, self.gradient, self.gradient_b, self.direction = np.empty((4, *shape))
        self.x_before, self.gradient_before = np.empty((2, *shape))
        self.scores = np.empty_like(start)
        self.largest, self.total = np.empty((2, len(Z)))
        self.size, self.n_pairs = self.x.size, 0
        self.steps, self.changes = np.empty((2, SLOTS, self.size))
        self.product, self.alpha = np.empty((2, SLOTS))

    cdef double loss_and_gradient(self) noexcept nogil:
        """The loss at x; the gradient is left in its array."""
        cdef int n_rows = <int> self.x.shape[0]
        cdef Py_ssize_t first = self.start.shape[0] - n_rows, k, j
        cdef double loss
        self.whiten_by(self.x, False, self.b)
        memcpy(&self.scores[0, 0], &self.start[0, 0],
               self.start.shape[0] * self.start.shape[1] * sizeof(double))
        multiply(&self.b[0, 0], n_rows, self.Z, True, 1.0, &self.scores[first, 0])
        loss = self._log_loss()
        multiply(&self.scores[first, 0], n_rows, self.Z, False, 0.0, &self.gradient_b[0, 0])
        for k in range(n_rows):
            for j in range(self.Z.shape[1]):
                loss += 0.5 * self.times[k] * self.ridge[j] * self.b[k, j] * self.b[k, j]
                self.gradient_b[k, j] += self.times[k] * self.ridge[j] * self.b[k, j]
        self.whiten_by(self.gradient_b, True, self.gradient)
        return loss

    cdef void whiten_by(
            self, double[:, ::1] a, bint transpose, double[:, ::1] product) noexcept nogil:
        """product = a whiten, or a whiten'."""
        cdef Py_ssize_t k, j
        if self.whiten.shape[0] == self.whiten.shape[1]:
            multiply(&a[0, 0], <int> a.shape[0], self.whiten, transpose, 0.0, &product[0, 0])
            return
        for k in range(a.shape[0]):
            for j in range(a.shape[1]):
                product[k, j] = a[k, j] * self.whiten[0, j]

    cdef double _log_loss(self) noexcept nogil:
        """The log loss of the scores, which become its derivatives."""
        cdef Py_ssize_t n = self.Z.shape[0], n_classes = self.start.shape[0], i, k
        cdef double loss = 0.0
        # A class at a time: its scores lie side by side.
        for i in range(n):
            self.largest[i], self.total[i] = self.scores[0, i], 0.0
        for k in range(1, n_classes):
            for i in range(n):
                if self.scores[k, i] > self.largest[i]:
                    self.largest[i] = self.scores[k, i]
        for i in range(n):
            loss -= self.weight[i] * (self.scores[self.y[i], i] - self.largest[i])
        for k in range(n_classes):
            for i in range(n):
                self.scores[k, i] = exp(self.scores[k, i] - self.largest[i])
                self.total[i] += self.scores[k, i]
        for i in range(n):
            loss += self.weight[i] * log(self.total[i])
            self.total[i] = self.weight[i] / self.total[i]
        for k in range(n_classes):
            for i in range(n):
                self.scores[k, i] *= self.total[i]
        for i in range(n):
            self.scores[self.y[i], i] -= self.weight[i]
        return loss

    cdef double largest_gradient(self) noexcept nogil:
        cdef double largest = 0.0
        cdef int j
        for j in range(self.size):
            largest = max(largest, fabs((&self.gradient[0, 0])[j]))
        return largest

    cdef bint take_step(self) noexcept nogil:
        """Go along the direction until the loss has fallen enough; False if it does nowhere."""
        cdef Py_ssize_t n_bytes = self.size * sizeof(double)
        cdef double slope, loss, size = 1.0
        cdef int every = 1, _halving
        self._find_direction()
        slope = ddot(&self.size, &self.direction[0, 0], &every, &self.gradient[0, 0], &every)
        memcpy(&self.x_before[0, 0], &self.x[0, 0], n_bytes)
        memcpy(&self.gradient_before[0, 0], &self.gradient[0, 0], n_bytes)
        for _halving in range(MAX_HALVINGS):
            memcpy(&self.x[0, 0], &self.x_before[0, 0], n_bytes)
            daxpy(&self.size, &size, &self.direction[0, 0], &every, &self.x[0, 0], &every)
            loss = self.loss_and_gradient()
            # False for NaN.
            if loss <= self.loss + SUFFICIENT * size * slope + ROUNDING * fabs(self.loss):
                self.loss = loss
                self._remember()
                return True
            size *= 0.5
        memcpy(&self.x[0, 0], &self.x_before[0, 0], n_bytes)
        return False

    cdef void _find_direction(self) noexcept nogil:
        """The two loops of L-BFGS; the first direction is the steepest one."""
        cdef int least = max(0, self.n_pairs - MEMORY), every = 1, pair, p
        cdef double factor
        cdef double *d = &self.direction[0, 0]
        for p in range(self.size):
            d[p] = -(&self.gradient[0, 0])[p]
        for pair in range(self.n_pairs - 1, least - 1, -1):
            p = pair % SLOTS
            self.alpha[p] = ddot(
                &self.size, &self.steps[p, 0], &every, d, &every) / self.product[p]
            factor = -self.alpha[p]
            daxpy(&self.size, &factor, &self.changes[p, 0], &every, d, &every)
        if self.n_pairs > 0:
            p = (self.n_pairs - 1) % SLOTS
            factor = self.product[p] / ddot(
                &self.size, &self.changes[p, 0], &every, &self.changes[p, 0], &every)
            for p in range(self.size):
                d[p] *= factor
        for pair in range(least, self.n_pairs):
            p = pair % SLOTS
            factor = self.alpha[p] - ddot(
                &self.size, &self.changes[p, 0], &every, d, &every) / self.product[p]
            daxpy(&self.size, &factor, &self.steps[p, 0], &every, d, &every)

    cdef void _remember(self) noexcept nogil:
        """List the step, unless rounding has left no curvature along it."""
        cdef int p = self.n_pairs % SLOTS, every = 1, j
        for j in range(self.size):
            self.steps[p, j] = (&self.x[0, 0])[j] - (&self.x_before[0, 0])[j]
            self.changes[p, j] = (&self.gradient[0, 0])[j] - (&self.gradient_before[0, 0])[j]
        self.product[p] = ddot(
            &self.size, &self.steps[p, 0], &every, &self.changes[p, 0], &every)
        if self.product[p] > 0.0:
            self.n_pairs += 1
