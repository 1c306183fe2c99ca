/* Written by ngdt.export.export_c. C99 with math.h; it allocates nothing, and keeps no state. */
#include <math.h>

/* A fused multiply-add rounds once where a product and a sum round twice. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

typedef double iris_real;
enum {
    iris_n_features = 4,
    iris_n_outputs = 3,
    iris_n_trees = 1,
    iris_n_nodes = 1
};

/* Index of the most probable class; -1 where a score is NaN. */
int iris_predict(const iris_real *x);
/* Probabilities of the classes; NaN where a score is NaN. */
void iris_predict_proba(const iris_real *x, iris_real *out);
/* The labels. */
extern const char *const iris_classes[iris_n_outputs];

const char *const iris_classes[] = {
    "0",
    "1",
    "2"};

/* Weights of a split, or slopes of a leaf. Where first_column is -1, those of all features. */
struct iris_row {
    int n, first, first_column;
};

static iris_real iris_total(const iris_real *sum, iris_real rest)
{
    iris_real four[4];
    int i;
    for (i = 0; i < 4; i++)
        four[i] = (sum[i] + sum[i + 8]) + (sum[i + 4] + sum[i + 12]);
    return ((four[0] + four[2]) + (four[1] + four[3])) + rest;
}

static iris_real iris_dense(const iris_real *w, const iris_real *x)
{
    iris_real sum[16] = {0}, rest = 0;
    int j = 0, i;
    for (; j + 16 <= iris_n_features; j += 16) {
        sum[0] += x[j + 0] * w[j + 0];
        sum[1] += x[j + 1] * w[j + 1];
        sum[2] += x[j + 2] * w[j + 2];
        sum[3] += x[j + 3] * w[j + 3];
        sum[4] += x[j + 4] * w[j + 4];
        sum[5] += x[j + 5] * w[j + 5];
        sum[6] += x[j + 6] * w[j + 6];
        sum[7] += x[j + 7] * w[j + 7];
        sum[8] += x[j + 8] * w[j + 8];
        sum[9] += x[j + 9] * w[j + 9];
        sum[10] += x[j + 10] * w[j + 10];
        sum[11] += x[j + 11] * w[j + 11];
        sum[12] += x[j + 12] * w[j + 12];
        sum[13] += x[j + 13] * w[j + 13];
        sum[14] += x[j + 14] * w[j + 14];
        sum[15] += x[j + 15] * w[j + 15];
    }
    for (; j + 4 <= iris_n_features; j += 4)
        for (i = 0; i < 4; i++)
            sum[i] += x[j + i] * w[j + i];
    for (; j < iris_n_features; j++)
        rest += x[j] * w[j];
    return iris_total(sum, rest);
}

static const iris_real iris_weights[] = {
    0.0, 0.0, 1.0, 0.0};
static const struct iris_row iris_rows[] = {
    {4, 0, -1}};
static const iris_real iris_thresholds[] = {
    2.45};
static const int iris_children[][2] = {
    {-1, -2}};
static const int iris_roots[] = {
    0};
static const iris_real iris_values[][iris_n_outputs] = {
    {-0.013158084577511199, -5.030437921392435, -5.030437921392435}, {-5.71373280550937, -0.6964529686944447, -0.6964529686944447}};

static iris_real iris_dot(int row, const iris_real *x)
{
    const struct iris_row r = iris_rows[row];
    const iris_real *w = iris_weights + r.first;
    return iris_dense(w, x);
}

/* The leaf that x reaches; -1 where a score is NaN. */
static int iris_leaf(const iris_real *x, int node)
{
    while (node >= 0) {
        const iris_real score = iris_dot(node, x) - iris_thresholds[node];
        if (score != score)
            return -1;
        node = iris_children[node][score > 0];
    }
    return -1 - node;
}

static void iris_softmax(iris_real *out)
{
    iris_real largest = out[0], total = 0;
    int k;
    for (k = 1; k < iris_n_outputs; k++)
        largest = out[k] > largest ? out[k] : largest;
    for (k = 0; k < iris_n_outputs; k++) {
        out[k] = (iris_real)exp(out[k] - largest);
        total += out[k];
    }
    for (k = 0; k < iris_n_outputs; k++)
        out[k] /= total;
}

static void iris_tree(const iris_real *x, int tree, iris_real *out)
{
    const int leaf = iris_leaf(x, iris_roots[tree]);
    int k;
    for (k = 0; k < iris_n_outputs; k++)
        out[k] = leaf < 0 ? (iris_real)NAN : iris_values[leaf][k];
}

/* The mean over the trees. */
static void iris_mean(const iris_real *x, iris_real *out)
{
    int tree, k;
    for (k = 0; k < iris_n_outputs; k++)
        out[k] = 0;
    for (tree = 0; tree < iris_n_trees; tree++) {
        iris_real of_tree[iris_n_outputs];
        iris_tree(x, tree, of_tree);
        for (k = 0; k < iris_n_outputs; k++)
            out[k] += of_tree[k];
    }
    for (k = 0; k < iris_n_outputs; k++)
        out[k] *= (iris_real)(1.0 / iris_n_trees);
}

int iris_predict(const iris_real *x)
{
    iris_real mean[iris_n_outputs];
    int best = 0, k;
    iris_mean(x, mean);
    if (mean[0] != mean[0])
        return -1;
    for (k = 1; k < iris_n_outputs; k++)
        best = mean[k] > mean[best] ? k : best;
    return best;
}

void iris_predict_proba(const iris_real *x, iris_real *out)
{
    iris_mean(x, out);
    iris_softmax(out);
}
