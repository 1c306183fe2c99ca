#include "soft.h"

#include <math.h>
#include <string.h>

/* GCC 11 has no dispatcher for x86-64-v3, and musl does not resolve such functions. The thread
 * sanitizer crashes in those that resolve them. NGDT_PLAIN and NGDT_AVX2, which leaves out AVX-512,
 * are for tools/same_bits.sh. */
#if __GNUC__ >= 12 && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) \
    && !defined(__SANITIZE_THREAD__) && !defined(NGDT_PLAIN)
#ifdef NGDT_AVX2
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#endif
#else
#define CLONES
#endif

/* Number of classes above which one pass by index replaces a pass over the slots for each class. */
enum { MANY_CLASSES = 16 };

/* exp(x) for |x| <= 20 to 2 units in the last place: 2^k times a polynomial in the rest, Cephes'.
 * Branch-free, so that compilers vectorise the loop around it. */
static inline float exp_small(float x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    float k = (x * 1.44269504f + magic) - magic;
    float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    float poly = 1.9875691500e-4f;
    int32_t bits;
    float scale;
    poly = poly * r + 1.3981999507e-3f;
    poly = poly * r + 8.3334519073e-3f;
    poly = poly * r + 4.1665795894e-2f;
    poly = poly * r + 1.6666665459e-1f;
    poly = poly * r + 5.0000001201e-1f;
    bits = ((int32_t)k + 127) << 23;
    memcpy(&scale, &bits, sizeof scale);
    return (poly * r * r + r + 1.0f) * scale;
}

CLONES void ngdt_sigmoid(float gamma, ptrdiff_t n, float *s)
{
    for (ptrdiff_t b = 0; b < n; b++) {
        float x = gamma * s[b];
        x = x < 20.0f ? x : 20.0f;
        x = x > -20.0f ? x : -20.0f;
        s[b] = 1.0f / (1.0f + exp_small(-x));
    }
}

CLONES void ngdt_lerp(const float *restrict p, const float *restrict left,
                      const float *restrict right, ptrdiff_t n, float *restrict out)
{
    for (ptrdiff_t b = 0; b < n; b++)
        out[b] = p[b] < 0.5f ? left[b] + p[b] * (right[b] - left[b])
                             : right[b] + (1.0f - p[b]) * (left[b] - right[b]);
}

CLONES void ngdt_backward_node(float gamma, const float *restrict p, ptrdiff_t n,
                               float *restrict node, float *restrict left, float *restrict right)
{
    for (ptrdiff_t b = 0; b < n; b++) {
        float to_right = node[b] * p[b], to_left = node[b] * (1.0f - p[b]);
        node[b] = -gamma * to_right * (1.0f - p[b]) * (right[b] - left[b]);
        right[b] = to_right;
        left[b] = to_left;
    }
}

CLONES void ngdt_cut(float cutoff, const float *restrict reach, ptrdiff_t n, float *restrict p)
{
    for (ptrdiff_t v = 0; v < n; v++) {
        float to_right = reach[v] * p[v], to_left = reach[v] * (1.0f - p[v]);
        float low = to_right < cutoff ? 0.0f : p[v], high = to_left < cutoff ? 1.0f : p[v];
        p[v] = p[v] < 0.5f ? low : high;
    }
}

/* Each visit is written, and the next one over it if it is left out: no branch to predict. Of
 * `is_visited ? end : nowhere`, gcc would make one. */
int ngdt_list_visits(int right, int first, int n, const float *p, int end, int nowhere,
                     int32_t *slot, float *reach, int32_t *child)
{
    for (int v = first; v < first + n; v++) {
        float share = right ? p[v] : 1.0f - p[v];
        int is_visited = share > 0.0f;
        child[v] = nowhere ^ ((nowhere ^ end) & -is_visited);
        slot[end] = slot[v];
        reach[end] = reach[v] * share;
        end += is_visited;
    }
    return end;
}

/* The side with the larger share is chosen by its place: a branch would be guessed wrong often. */
void ngdt_lerp_visits(int first, int n, const float *p, const int32_t *left, const int32_t *right,
                      float *state)
{
    const int32_t *sides[2] = {left, right};
    for (int v = first; v < first + n; v++) {
        float shares[2] = {1.0f - p[v], p[v]};
        int larger = !(p[v] < 0.5f);
        float near = state[sides[larger][v]], far = state[sides[!larger][v]];
        state[v] = near + shares[!larger] * (far - near);
    }
}

void ngdt_backward_visits(float gamma, int first, int n, const float *p, const int32_t *left,
                          const int32_t *right, float *state)
{
    for (int v = first; v < first + n; v++) {
        float to_right = state[v] * p[v], to_left = state[v] * (1.0f - p[v]);
        float difference = state[right[v]] - state[left[v]];
        state[v] = -gamma * to_right * (1.0f - p[v]) * difference;
        state[right[v]] = to_right;
        state[left[v]] = to_left;
    }
}

/* Few numbers are chosen by comparisons, which are vectorised: of 2 to 10 numbers in a quarter to two
 * thirds of the time of a gather. */
CLONES void ngdt_gather(const float *restrict table, const int32_t *restrict label, ptrdiff_t n,
                        int k, float *restrict out)
{
    if (k > MANY_CLASSES) {
        for (ptrdiff_t b = 0; b < n; b++)
            out[b] = table[label[b]];
        return;
    }
    for (ptrdiff_t b = 0; b < n; b++)
        out[b] = table[0];
    for (int c = 1; c < k; c++) {
        const float value = table[c];
        for (ptrdiff_t b = 0; b < n; b++)
            out[b] = label[b] == c ? value : out[b];
    }
}

/* One pass per class over eight sums side by side: a sum per class in one pass would wait, for each
 * number, until the one before has been added. With many classes that is rare, and one pass less. */
CLONES void ngdt_sum_by_label(const int32_t *restrict label, const float *restrict x, ptrdiff_t n,
                              int k, float *restrict sums)
{
    ptrdiff_t b = 0;
    if (k <= MANY_CLASSES) {
        for (int c = 0; c < k; c++) {
            float side[8] = {0};
            for (b = 0; b + 8 <= n; b += 8)
                for (int i = 0; i < 8; i++)
                    side[i] += label[b + i] == c ? x[b + i] : 0.0f;
            sums[c] += ((side[0] + side[4]) + (side[2] + side[6]))
                       + ((side[1] + side[5]) + (side[3] + side[7]));
        }
        b = n - n % 8;
    }
    for (; b < n; b++)
        sums[label[b]] += x[b];
}

CLONES void ngdt_move_means(double rate, double total, const float *restrict sums,
                            const float *restrict p, ptrdiff_t n, float *restrict mean)
{
    for (ptrdiff_t c = 0; c < n; c++)
        mean[c] += (float)(rate * (sums[c] * p[c] / total - mean[c]));
}

CLONES void ngdt_probabilities(double weight, const double *restrict prior,
                               const float *restrict mean, ptrdiff_t n, float *restrict p)
{
    double total = weight;
    for (ptrdiff_t c = 0; c < n; c++)
        total += mean[c];
    for (ptrdiff_t c = 0; c < n; c++)
        p[c] = (float)((mean[c] + weight * prior[c]) / total);
}

CLONES void ngdt_subtract_huber(float limit, const float *restrict e, ptrdiff_t n,
                                float *restrict out)
{
    for (ptrdiff_t b = 0; b < n; b++) {
        float size = e[b] < 0.0f ? -e[b] : e[b];
        float inner = size < limit ? size : limit;
        out[b] -= inner * (2.0f * size - inner);
    }
}

CLONES float ngdt_huber_gradient(float limit, const float *restrict grad_value, ptrdiff_t n,
                                 float *restrict e)
{
    float side[8] = {0};
    for (ptrdiff_t b = 0; b < n; b++) {
        float inner = e[b] < limit ? e[b] : limit;
        inner = inner > -limit ? inner : -limit;
        e[b] = -2.0f * inner * grad_value[b];
    }
    for (ptrdiff_t b = 0; b < n; b++)
        side[b % 8] += e[b];
    return ((side[0] + side[4]) + (side[2] + side[6])) + ((side[1] + side[5]) + (side[3] + side[7]));
}

CLONES void ngdt_adam_step(const ngdt_adam *adam, const float *restrict gradient, ptrdiff_t n,
                           float *restrict w, float *restrict first, float *restrict second)
{
    const float rate = adam->rate, keep = adam->keep, epsilon = adam->epsilon;
    const float beta1 = adam->beta1, beta2 = adam->beta2;
    for (ptrdiff_t j = 0; j < n; j++) {
        float g = gradient[j];
        first[j] = beta1 * first[j] + (1.0f - beta1) * g;
        second[j] = beta2 * second[j] + (1.0f - beta2) * (g * g);
        w[j] = keep * w[j] - rate * first[j] / (sqrtf(second[j]) + epsilon);
    }
}

CLONES void ngdt_adam_wait(const ngdt_wait *wait, ptrdiff_t n, float *restrict w,
                           float *restrict first, float *restrict second)
{
    const float keep = wait->keep, rate = wait->rate, epsilon = wait->epsilon;
    const float first_share = wait->first_share, second_share = wait->second_share;
    for (ptrdiff_t j = 0; j < n; j++) {
        w[j] = keep * w[j] - rate * first[j] / (sqrtf(second[j]) + epsilon);
        first[j] *= first_share;
        second[j] *= second_share;
    }
}
