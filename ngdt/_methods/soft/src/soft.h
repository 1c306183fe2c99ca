/* Elementwise loops of soft routing and of Adam.
 *
 * The n numbers are contiguous: the slots of a mini-batch, or the weights of a block of nodes. Each
 * function takes one pass over them, and those of labels one per class up to 16 classes. No
 * function allocates, and outputs overlap no inputs unless one array is both. Names are those of
 * routing.pyx: a value is V, grad_value is M.
 */
#ifndef NGDT_SOFT_H
#define NGDT_SOFT_H

#include <stddef.h>
#include <stdint.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

/* Let this thread take numbers below 1e-38 for zero, and undo that. Products of many small
 * probabilities get there, where each operation is a hundred times slower. */
static inline unsigned ngdt_flush_tiny(void)
{
#if defined(__SSE2__) || defined(_M_X64)
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040); /* flush to zero, denormals are zero */
    return mode;
#else
    return 0;
#endif
}

static inline void ngdt_keep_tiny(unsigned mode)
{
#if defined(__SSE2__) || defined(_M_X64)
    _mm_setcsr(mode);
#else
    (void)mode;
#endif
}

/* s = 1 / (1 + exp(-gamma * s)), with gamma * s clipped to +-20. */
void ngdt_sigmoid(float gamma, ptrdiff_t n, float *s);
/* out = (1 - p) * left + p * right, computed as the side with the larger share plus a share of the
 * difference. So a small right is not lost beside left where p is 1, and equal sides give exactly
 * what they are: Adam would make steps of the rounding errors. */
void ngdt_lerp(const float *p, const float *left, const float *right, ptrdiff_t n, float *out);
/* Backward step of one node. In: its grad_value in node, the values of its children in left and
 * right. Out: the grad_value of the children in place of their values, and
 * -gamma * grad_value * p * (1 - p) * (right - left), the gradient in the score, in node. */
void ngdt_backward_node(float gamma, const float *p, ptrdiff_t n, float *node, float *left,
                        float *right);

/* Visits: a sample, in a slot of the mini-batch, at a node. Those of a node follow each other, and
 * each has the numbers of the visits of the children that it leads to. A side that is left out has
 * probability 0 and the number `nowhere`, of a visit that has value 0. */

/* Where less than `cutoff` of `reach`, the probability of getting there, would go to one side, p
 * becomes 0 or 1. */
void ngdt_cut(float cutoff, const float *reach, ptrdiff_t n, float *p);
/* List the visits of the right child, or of the left one, from `end` on; returns the new end. In
 * slot and reach, the n parents are the first from `first` on. */
int ngdt_list_visits(int right, int first, int n, const float *p, int end, int nowhere,
                     int32_t *slot, float *reach, int32_t *child);
/* The same as ngdt_lerp and as ngdt_backward_node, for the visits of a node and their children. */
void ngdt_lerp_visits(int first, int n, const float *p, const int32_t *left, const int32_t *right,
                      float *state);
void ngdt_backward_visits(float gamma, int first, int n, const float *p, const int32_t *left,
                          const int32_t *right, float *state);

/* out[b] = table[label[b]], for 0 <= label[b] < k */
void ngdt_gather(const float *table, const int32_t *label, ptrdiff_t n, int k, float *out);
/* sums[c] += sum of x[b] over all b with label[b] == c, for 0 <= c < k */
void ngdt_sum_by_label(const int32_t *label, const float *x, ptrdiff_t n, int k, float *sums);

/* Moves the running mean of each class by the share `rate` towards sums * p / total. */
void ngdt_move_means(double rate, double total, const float *sums, const float *p, ptrdiff_t n,
                     float *mean);
/* Probabilities of classes whose prior counts as much as `weight`. */
void ngdt_probabilities(double weight, const double *prior, const float *mean, ptrdiff_t n,
                        float *p);

/* out[b] -= rho(e[b]), the Huber loss: e^2 up to the limit, and then linear. */
void ngdt_subtract_huber(float limit, const float *e, ptrdiff_t n, float *out);
/* e[b] = -grad_value[b] rho'(e[b]), the gradient in a prediction of which e is the residual; returns
 * the sum. */
float ngdt_huber_gradient(float limit, const float *grad_value, ptrdiff_t n, float *e);

typedef struct {
    float rate;         /* learning rate, with the bias corrections of this step in it */
    float keep;         /* 1 - decoupled weight decay */
    float beta1, beta2;
    float epsilon;
} ngdt_adam;

/* One step of Adam with decoupled weight decay on n numbers. */
void ngdt_adam_step(const ngdt_adam *adam, const float *gradient, ptrdiff_t n, float *w,
                    float *first, float *second);

/* Several steps of Adam with gradients of zero. The moments shrink by the same factors at each step,
 * and so does their quotient: what n numbers lose is a multiple of the quotient at the beginning. */
typedef struct {
    float keep;         /* product of the keeps of the steps */
    float rate;         /* sum of the rates, each times the shrinking of the quotient until its step
                         * and the keeps after it */
    float first_share, second_share;    /* of the moments that is left */
    float epsilon;
} ngdt_wait;

void ngdt_adam_wait(const ngdt_wait *wait, ptrdiff_t n, float *w, float *first, float *second);

#endif
