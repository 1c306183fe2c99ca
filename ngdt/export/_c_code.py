"""Templates of the C code, without the numbers of a model.

``$name`` is the prefix of all names, ``$real`` the type of all numbers, ``$sample`` the sample that
is predicted, and ``$width`` the number of features. Sums run in the order of `src/dot.c`: to 16
partial sums, then to 4, which are added pairwise.
"""

HEADER = """\
/* Written by ngdt.export.export_c: what other files need of its code. */
#ifndef ${name}_h
#define ${name}_h
#ifdef __cplusplus
extern "C" {
#endif
$declarations
#ifdef __cplusplus
}
#endif
#endif
"""

HEAD = """\
/* Written by ngdt.export.export_c. C99 with math.h; it allocates nothing, and keeps no state. */
#include <math.h>
$strings
/* A fused multiply-add rounds once where a product and a sum round twice. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
"""

TYPES = """
typedef $real ${name}_real;
enum {
    ${name}_n_features = $n_features,
$n_encoded    ${name}_n_outputs = $n_outputs,
    ${name}_n_trees = $n_trees,
    ${name}_n_nodes = $n_nodes
};
"""

CLASSIFIER_PROTOTYPES = """
/* Index of the most probable class; -1 where a score is NaN. */
int ${name}_predict(const $sample);
/* Probabilities of the classes; NaN where a score is NaN. */
void ${name}_predict_proba(const $sample, ${name}_real *out);
/* The labels. */
extern const char *const ${name}_classes[${name}_n_outputs];
"""

REGRESSOR_PROTOTYPES = """
/* Predictions, one for each output; NaN where a score is NaN. */
void ${name}_predict(const $sample, ${name}_real *out);
"""

ROWS = """
/* Weights of a split, or slopes of a leaf. Where first_column is -1, those of all features. */
struct ${name}_row {
    int n, first, first_column;
};

static ${name}_real ${name}_total(const ${name}_real *sum, ${name}_real rest)
{
    ${name}_real four[4];
    int i;
    for (i = 0; i < 4; i++)
        four[i] = (sum[i] + sum[i + 8]) + (sum[i + 4] + sum[i + 12]);
    return ((four[0] + four[2]) + (four[1] + four[3])) + rest;
}
"""

# gcc vectorises 16 statements, one for each feature, at -O2, but a loop at -O3 only.
DENSE = """
static ${name}_real ${name}_dense(const ${name}_real *w, const ${name}_real *x)
{
    ${name}_real sum[16] = {0}, rest = 0;
    int j = 0, i;
    for (; j + 16 <= ${width}; j += 16) {
""" + "".join(f"        sum[{i}] += x[j + {i}] * w[j + {i}];\n" for i in range(16)) + """\
    }
    for (; j + 4 <= ${width}; j += 4)
        for (i = 0; i < 4; i++)
            sum[i] += x[j + i] * w[j + i];
    for (; j < ${width}; j++)
        rest += x[j] * w[j];
    return ${name}_total(sum, rest);
}
"""

SPARSE = """
static ${name}_real ${name}_sparse(
    const ${name}_real *w, const int *column, int n, const ${name}_real *x)
{
    ${name}_real sum[16] = {0}, rest = 0;
    int j = 0;
    if (n == 1)
        return x[column[0]] * w[0];
$loops    for (; j < n; j++)
        rest += x[column[j]] * w[j];
    return ${name}_total(sum, rest);
}
"""

# Of a loop for more features than there are, compilers say that its columns are negative.
SPARSE_LOOP = """\
    for (; j < n && column[j] < ${width} / $group * $group; j++)
        sum[column[j] % $group] += x[column[j]] * w[j];
"""

# Compilers warn of a call that no row needs: in it, they see arrays end too early.
DOT = """
static ${name}_real ${name}_dot(int row, const ${name}_real *x)
{
    const struct ${name}_row r = ${name}_rows[row];
    const ${name}_real *w = ${name}_weights + r.first;
$product}
"""

PRODUCT_OF_DENSE = """\
    return ${name}_dense(w, x);
"""

PRODUCT_OF_SPARSE = """\
    return ${name}_sparse(w, ${name}_columns + r.first_column, r.n, x);
"""

PRODUCT_OF_EITHER = """\
    if (r.first_column < 0)
        return ${name}_dense(w, x);
""" + PRODUCT_OF_SPARSE

ROUTE = """
/* The leaf that x reaches; -1 where a score is NaN. */
static int ${name}_leaf(const ${name}_real *x, int node)
{
    while (node >= 0) {
        const ${name}_real score = ${name}_dot(node, x) - ${name}_thresholds[node];
        if (score != score)
            return -1;
        node = ${name}_children[node][score > 0];
    }
    return -1 - node;
}
"""

PROBABILITIES = """
static void ${name}_softmax(${name}_real *out)
{
    ${name}_real largest = out[0], total = 0;
    int k;
    for (k = 1; k < ${name}_n_outputs; k++)
        largest = out[k] > largest ? out[k] : largest;
    for (k = 0; k < ${name}_n_outputs; k++) {
        out[k] = (${name}_real)exp(out[k] - largest);
        total += out[k];
    }
    for (k = 0; k < ${name}_n_outputs; k++)
        out[k] /= total;
}
"""

# $linear is empty, or LINEAR; where probabilities are averaged, SOFTMAX follows.
TREE = """
static void ${name}_tree(const ${name}_real *x, int tree, ${name}_real *out)
{
    const int leaf = ${name}_leaf(x, ${name}_roots[tree]);
    int k;
    for (k = 0; k < ${name}_n_outputs; k++)
        out[k] = leaf < 0 ? (${name}_real)NAN : ${name}_values[leaf][k];
$linear}

/* The mean over the trees. */
static void ${name}_mean(const ${name}_real *x, ${name}_real *out)
{
    int tree, k;
    for (k = 0; k < ${name}_n_outputs; k++)
        out[k] = 0;
    for (tree = 0; tree < ${name}_n_trees; tree++) {
        ${name}_real of_tree[${name}_n_outputs];
        ${name}_tree(x, tree, of_tree);
        for (k = 0; k < ${name}_n_outputs; k++)
            out[k] += of_tree[k];
    }
    for (k = 0; k < ${name}_n_outputs; k++)
        out[k] *= (${name}_real)(1.0 / ${name}_n_trees);
}
"""

LINEAR = """\
    if (leaf < 0 || ${name}_slopes[leaf] < 0)
        return;
    for (k = 0; k < ${name}_n_outputs; k++) {
        const int row = ${name}_slopes[leaf] + k;
        const ${name}_real *range = ${name}_ranges[row - ${name}_n_nodes];
        const ${name}_real value = out[k] + ${name}_dot(row, x);
        out[k] = value < range[0] ? range[0] : value > range[1] ? range[1] : value;
    }
"""

SOFTMAX = """\
    ${name}_softmax(out);
"""

# $softmax is empty, or SOFTMAX where means are logits.
CLASSIFIER = """
int ${name}_predict(const $sample)
{
    ${name}_real mean[${name}_n_outputs];
    int best = 0, k;
$encode    ${name}_mean(x, mean);
    if (mean[0] != mean[0])
        return -1;
    for (k = 1; k < ${name}_n_outputs; k++)
        best = mean[k] > mean[best] ? k : best;
    return best;
}

void ${name}_predict_proba(const $sample, ${name}_real *out)
{
$encode    ${name}_mean(x, out);
$softmax}
"""

REGRESSOR = """
void ${name}_predict(const $sample, ${name}_real *out)
{
$encode    ${name}_mean(x, out);
}
"""

# --- encoding of the columns of a table as features -----------------------------------------------

ORDER = """
/* The columns of a sample:
$columns*/
"""

SAMPLE = """
/* A row of the table. NaN is a missing number, NULL a missing text. Texts are UTF-8. */
typedef struct {
$members} ${name}_sample;
"""

# Both kinds of categories, strings and numbers, are found by bisection. $comparison is negative
# where a value comes before categories[middle], and zero where it is this one.
FIND = """
/* Place of a category among the features of its column; -1 if it has none, -2 if it is unknown. */
static int ${name}_find_$kind(
    $value, const $category *categories, const int *places, int n, int missing)
{
    int first = 0;
    if ($is_missing)
        return missing;
    while (first < n) {
        const int middle = first + (n - first) / 2;
        const int order = $comparison;
        if (order == 0)
            return places[middle];
        if (order < 0)
            n = middle;
        else
            first = middle + 1;
    }
    return -2;
}
"""

OF_TEXTS = {
    "kind": "text", "value": "const char *value", "category": "char *const",
    "is_missing": "!value", "comparison": "strcmp(value, categories[middle])"}
OF_NUMBERS = {
    "kind": "number", "value": "double value", "category": "double", "is_missing": "value != value",
    "comparison": "(value > categories[middle]) - (value < categories[middle])"}

CATEGORY = """
static void ${name}_category(int place, const ${name}_real *unknown, int n, ${name}_real *out)
{
    int k;
    for (k = 0; k < n; k++)
        out[k] = place == -2 ? unknown[k] : (${name}_real)(k == place);
}
"""

ENCODER = """
static void ${name}_encode(const $sample, ${name}_real *x)
{
$statements}
"""
