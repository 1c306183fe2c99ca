/* Calls the functions in C with arrays of just the size that they may touch, for the
 * sanitizers of gcc. Given the word "overrun", one array is too short, which has to be found; given
 * "race", threads do not wait for each other. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "barrier.h"
#include "differ.h"
#include "dot.h"
#include "soft.h"

static unsigned state = 1;

static float number(void) /* within [-2, 2] */
{
    state = state * 1664525u + 1013904223u;
    return (float)(int)(state >> 8) / 4194304.0f - 2.0f;
}

static float *floats(int n)
{
    float *x = malloc(n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = number();
    return x;
}

static double *doubles(int n)
{
    double *x = malloc(n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = number();
    return x;
}

static float *shares(int n) /* probabilities, 0 and 1 among them */
{
    float *p = floats(n);
    for (int i = 0; i < n; i++)
        p[i] = p[i] < -1.5f ? 0.0f : p[i] > 1.5f ? 1.0f : (p[i] + 1.5f) / 3.0f;
    return p;
}

static int32_t *integers(int n, int below)
{
    int32_t *i = malloc(n * sizeof *i);
    for (int b = 0; b < n; b++)
        i[b] = (int32_t)((number() + 2.0f) / 4.001f * (float)below);
    return i;
}

static int32_t *every_second(int n)
{
    int32_t *columns = malloc(n * sizeof *columns);
    for (int j = 0; j < n; j++)
        columns[j] = 2 * j;
    return columns;
}

static void products(int n)
{
    int wide = n ? 2 * n - 1 : 0;
    float *x = floats(n), *w = floats(n), *wide_x = floats(wide), *wide_w = floats(wide), *out = floats(n);
    double *x64 = doubles(n), *w64 = doubles(n), *wide_x64 = doubles(wide), *wide_w64 = doubles(wide);
    int32_t *columns = every_second(n);
    double sum = ngdt_dense_f32_f64(x, NULL, n, w64) + ngdt_dense_f64_f64(x64, NULL, n, w64)
        + ngdt_dense_f32_f32(x, NULL, n, w) + ngdt_sparse_f32_f64(x, columns, n, wide_w64)
        + ngdt_sparse_f64_f64(x64, columns, n, wide_w64) + ngdt_sparse_f32_f32(x, columns, n, wide_w)
        + ngdt_dense_f32_sparse(wide_x, NULL, wide, w64, columns, n)
        + ngdt_dense_f64_sparse(wide_x64, NULL, wide, w64, columns, n) + ngdt_norm2_f32(n, w);
    assert(sum == sum);
    ngdt_axpy_f32(0.5f, x, NULL, n, w);
    ngdt_axpy_f32(0.5f, x, columns, n, wide_w);
    ngdt_add_f32_f64(0.5, x, NULL, n, w64);
    ngdt_add_f32_f64(0.5, x, columns, n, wide_w64);
    ngdt_add_f64_f64(0.5, x64, NULL, n, w64);
    ngdt_add_f64_f64(0.5, x64, columns, n, wide_w64);
    ngdt_scale_f32(0.5f, n, w);
    ngdt_standardize_f32(x, w, w, n, out);
    ngdt_standardize_f64(x64, w64, w64, n, out);
    ngdt_differ_f32(x, w, n < 64 ? n : 64);
    ngdt_differ_f64(x64, w64, n < 64 ? n : 64);
    void *all[] = {x, w, wide_x, wide_w, out, x64, w64, wide_x64, wide_w64, columns};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

static void rows(int n, int p)
{
    const int n_rows = 7, stride = p + 3;
    float *x = floats((n_rows - 1) * stride + p), *w = floats(p), *a = floats(n), *out = floats(n);
    int32_t *row = integers(n, n_rows);
    float sum = 0.0f;
    ngdt_rows_times_f32(x, stride, row, n, w, p, 0.25f, out);
    if (n)
        a[n / 2] = 0.0f;
    ptrdiff_t n_added = ngdt_add_rows_f32(a, x, stride, row, n, p, w, &sum);
    assert(n_added <= n);
    free(x), free(w), free(a), free(out), free(row);
}

static void elimination(int d)
{
    const int stride = (d + 7) / 8 * 8;
    double *a = doubles(d * stride);
    ngdt_eliminate(d, d - d / 8, stride, a);
    free(a);
}

static void slots(int n)
{
    const int k = 1 + n % 20;
    float *p = shares(n), *left = floats(n), *right = floats(n), *node = floats(n), *out = floats(n);
    float *table = floats(k), *sums = floats(k), *reach = shares(n), *mean = floats(k);
    double prior[20] = {1.0};
    int32_t *label = integers(n, k);
    ngdt_lerp(p, left, right, n, out);
    ngdt_cut(0.01f, reach, n, p);
    ngdt_backward_node(2.0f, p, n, node, left, right);
    ngdt_gather(table, label, n, k, out);
    ngdt_sum_by_label(label, out, n, k, sums);
    ngdt_move_means(0.1, 2.0, sums, table, k, mean);
    ngdt_probabilities(1.0, prior, mean, k, table);
    ngdt_subtract_huber(1.0f, left, n, out);
    ngdt_huber_gradient(1.0f, right, n, left);
    ngdt_sigmoid(3.0f, n, out);
    ngdt_adam_step(&(ngdt_adam){0.1f, 0.9f, 0.9f, 0.99f, 1e-8f}, node, n, out, left, p);
    ngdt_adam_wait(&(ngdt_wait){0.9f, 0.1f, 0.9f, 0.99f, 1e-8f}, n, out, left, p);
    void *all[] = {p, left, right, node, out, table, sums, reach, label, mean};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void overrun(void)
{
    float *w = floats(16);
    ngdt_scale_f32(0.5f, 17, w);
    free(w);
}

enum { N_THREADS = 3, N_PHASES = 500, N_TASKS = 10 };
static ngdt_threads threads;
static int done[N_TASKS]; /* not atomic: the barrier has to keep phases apart */
static int is_race;

static void *work(void *is_first)
{
    for (int phase = 0; phase < N_PHASES; phase++) {
        int task;
        while ((task = ngdt_threads_next_task(&threads)) < N_TASKS)
            done[task]++;
        if (is_race) {
            done[0]++;
            continue;
        }
        if (!ngdt_threads_wait(&threads))
            break;
        if (is_first)
            for (task = 0; task < N_TASKS; task++)
                assert(done[task] == phase + 1);
        if (!ngdt_threads_wait(&threads))
            break;
    }
    return NULL;
}

static void meet(void)
{
    pthread_t other[N_THREADS - 1];
    ngdt_threads_init(&threads, N_THREADS);
    for (int t = 0; t < N_THREADS - 1; t++)
        if (pthread_create(&other[t], NULL, work, NULL))
            abort();
    work(&threads);
    for (int t = 0; t < N_THREADS - 1; t++)
        pthread_join(other[t], NULL);
}

int main(int n_words, char **words)
{
    is_race = n_words > 1 && strcmp(words[1], "race") == 0;
    for (int n = 0; n < 140; n++) {
        products(n);
        slots(n);
        rows(n, n % 37);
        elimination(n % 37);
    }
    if (n_words > 1 && strcmp(words[1], "overrun") == 0)
        overrun();
    meet();
    return 0;
}
