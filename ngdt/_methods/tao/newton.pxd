from libc.math cimport copysign, fabs, fmax
from libc.stdint cimport int32_t

from ngdt._core.samples cimport Sample, Samples


cdef inline double stored(const Sample *x, Py_ssize_t e, bint is_float32) noexcept nogil:
    """A stored value of a sample."""
    return (<const float *> x.values)[e] if is_float32 else (<const double *> x.values)[e]


cdef inline double hinge(double margin) noexcept nogil:
    """The loss of a margin y f: the squared hinge."""
    return (1.0 - margin) * (1.0 - margin) if margin < 1.0 else 0.0


cdef inline double hinge_slope(double margin) noexcept nogil:
    return 2.0 * (margin - 1.0) if margin < 1.0 else 0.0


cdef inline double hinge_curvature(double margin) noexcept nogil:
    return 2.0 if margin < 1.0 else 0.0


cdef inline double penalty_of(double w, bint is_l1) noexcept nogil:
    """|w|, or w^2 / 2."""
    return fabs(w) if is_l1 else 0.5 * w * w


cdef inline double violation_of(double w, double gradient, bint is_l1) noexcept nogil:
    """Distance of the gradient of the loss from what is optimal at this weight."""
    if not is_l1:
        return fabs(gradient + w)
    if w != 0.0:
        return fabs(gradient + copysign(1.0, w))
    return fmax(fabs(gradient) - 1.0, 0.0)


cdef inline double minimiser(
        double w, double gradient, double curvature, bint is_l1) noexcept nogil:
    """Best weight where the loss has this gradient at w, and this curvature."""
    if not is_l1:
        return w - (gradient + w) / (curvature + 1.0)
    # Not as w - (gradient +- 1) / curvature, in which a large w would lose a small step.
    if gradient + 1.0 < curvature * w:
        return w - (gradient + 1.0) / curvature
    if gradient - 1.0 > curvature * w:
        return w - (gradient - 1.0) / curvature
    return 0.0


cdef class NewtonFit:
    # These are common to all nodes, and constant: threads share them.
    cdef Samples data
    cdef const double[::1] center
    cdef const double[::1] inverse      # of the scale
    cdef bint is_l1
    cdef const int32_t[::1] samples
    cdef const double[::1] target
    cdef const double[::1] cost
    cdef Py_ssize_t n_samples
    cdef Py_ssize_t n_features
    # These have the intercept last.
    cdef double[::1] weights
    cdef double[::1] goal           # where the step ends
    cdef double[::1] gradient       # of the loss
    cdef double[::1] direction      # from weights to goal
    cdef double[::1] raw            # for the raw features, where `to_raw` writes
    cdef double[::1] margin
    cdef double[::1] change         # of the margins, along the step
    cdef object deadline
    cdef bint is_timed
    cdef object interruption    # what `is_late` could not raise

    cdef void run(self, double tol, int max_steps) noexcept nogil
    cdef void find_goal(self) noexcept nogil
    cdef bint is_late(self) noexcept nogil
    cdef void to_raw(self, const double *w) noexcept nogil
    cdef double project(self, const Sample *x) noexcept nogil
    cdef void add(self, double r, const Sample *x, double *gradient) noexcept nogil
    cdef void to_scaled(self, double *gradient) noexcept nogil
    cdef double violation(self, const double *w) noexcept nogil

    cdef double _value_at(self, double t) noexcept nogil
    cdef void _find_margins(self, const double *w, double *out) noexcept nogil
    cdef void _find_gradient(self, const double[::1] margin) noexcept nogil
    cdef void _scale(self) noexcept nogil
    cdef double _slope_at_scale(self, double scale) noexcept nogil
    cdef double _violation_at_zero(self) noexcept nogil
    cdef bint _search_line(self) noexcept nogil
