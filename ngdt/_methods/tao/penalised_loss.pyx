"""What the linear classifier of a node minimises.

    F(w, b) = sum_i c_i loss(y_i (w . z_i + b)) + penalty(w),    y_i = -1 or 1,

where z = (x - center) / scale, and the intercept b is free. The samples i, their costs c and labels
y belong to a node (`NewtonFit`); the rest is common to all nodes, and constant: threads share it.
"""

from libc.math cimport exp, fabs, log1p


cdef class Surrogate:
    """Loss of a margin y f, with its first and second derivatives."""

    cdef double value(self, double margin) noexcept nogil:
        return 0.0

    cdef double slope(self, double margin) noexcept nogil:
        return 0.0

    cdef double curvature(self, double margin) noexcept nogil:
        return 0.0


cdef class SquaredHinge(Surrogate):
    """max(0, 1 - m)^2."""

    cdef double value(self, double margin) noexcept nogil:
        return (1.0 - margin) * (1.0 - margin) if margin < 1.0 else 0.0

    cdef double slope(self, double margin) noexcept nogil:
        return 2.0 * (margin - 1.0) if margin < 1.0 else 0.0

    cdef double curvature(self, double margin) noexcept nogil:
        return 2.0 if margin < 1.0 else 0.0


cdef class Logistic(Surrogate):
    """log(1 + exp(-m))."""

    cdef double value(self, double margin) noexcept nogil:
        return log1p(exp(-margin)) if margin > 0.0 else log1p(exp(margin)) - margin

    cdef double slope(self, double margin) noexcept nogil:
        return -1.0 / (1.0 + exp(margin))

    cdef double curvature(self, double margin) noexcept nogil:
        cdef double tail = exp(-fabs(margin))
        return tail / ((1.0 + tail) * (1.0 + tail))


cdef class Penalty:
    """A function of each weight by itself, homogeneous of some degree."""

    cdef double value(self, double w) noexcept nogil:
        return 0.0

    cdef double violation(self, double w, double gradient) noexcept nogil:
        """How far the gradient of the loss is from what is optimal at this weight."""
        return 0.0

    cdef double minimiser(self, double w, double gradient, double curvature) noexcept nogil:
        """Best weight where the loss has this gradient at w, and this curvature."""
        return w


cdef class L1(Penalty):
    """|w|."""

    def __cinit__(self):
        self.degree = 1

    cdef double value(self, double w) noexcept nogil:
        return fabs(w)

    cdef double violation(self, double w, double gradient) noexcept nogil:
        if w > 0.0:
            return fabs(gradient + 1.0)
        if w < 0.0:
            return fabs(gradient - 1.0)
        return fabs(gradient) - 1.0 if fabs(gradient) > 1.0 else 0.0

    cdef double minimiser(self, double w, double gradient, double curvature) noexcept nogil:
        # Not as w - (gradient +- 1) / curvature, in which a large w would lose a small step.
        if gradient + 1.0 < curvature * w:
            return w - (gradient + 1.0) / curvature
        if gradient - 1.0 > curvature * w:
            return w - (gradient - 1.0) / curvature
        return 0.0


cdef class L2(Penalty):
    """w^2 / 2."""

    def __cinit__(self):
        self.degree = 2

    cdef double value(self, double w) noexcept nogil:
        return 0.5 * w * w

    cdef double violation(self, double w, double gradient) noexcept nogil:
        return fabs(gradient + w)

    cdef double minimiser(self, double w, double gradient, double curvature) noexcept nogil:
        return w - (gradient + w) / (curvature + 1.0)


SURROGATES = {"squared_hinge": SquaredHinge, "logistic": Logistic}
PENALTIES = {"l1": L1, "l2": L2}


cdef class PenalisedLoss:
    """The parts of F that are common to all fits.

    Parameters
    ----------
    data : Samples
    scaling : Scaling
        Of the features that are penalised.
    loss : {"squared_hinge", "logistic"}
    penalty : {"l1", "l2"}
    """

    def __init__(self, Samples data, scaling, loss, penalty):
        self.data = data
        self.center = scaling.center
        self.inverse = 1.0 / scaling.scale
        self.loss = SURROGATES[loss]()
        self.penalty = PENALTIES[penalty]()
