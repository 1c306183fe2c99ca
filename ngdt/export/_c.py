"""Models as C code."""

import re

from ngdt.export import _c_code as code
from ngdt.export._c_data import TYPES, CData
from ngdt.export._c_sample import CSample
from ngdt.export._model import ExportedModel


def export_c(model, *, name="ngdt", dtype="double", header=False):
    """Export a tree or a forest as C code.

    The code is one file of C99. It allocates nothing, keeps no state, and needs no library but the
    standard one. A prediction visits the nodes of the path only. Weights are stored, and
    multiplied, as sparse rows where at most an eighth of a row is not zero. With the prefix `name`,
    it has

    - for classifiers, ``int ngdt_predict(const double *x)``, the index of the most probable class,
      ``void ngdt_predict_proba(const double *x, double *out)``, and the labels as strings,
      ``ngdt_classes``;
    - else, ``void ngdt_predict(const double *x, double *out)``, which writes the predictions, for a
      `Tree` its leaf values, as in `Tree.predict`;
    - the lengths of `x` and `out` as constants ``ngdt_n_features`` and ``ngdt_n_outputs``, and the
      names of the columns of a data frame as a comment.

    A model that was trained on a table with categories reads ``const ngdt_sample *sample`` instead
    of `x`: a struct with a member for each column, which has its name. Categories are ``const char
    *`` in UTF-8 or, where they are numbers, ``double``.

    Parameters
    ----------
    model : Tree or fitted estimator
    name : str, default="ngdt"
        Prefix of all names in the code, so that a program may have several models.
    dtype : {"double", "float"}, default="double"
        Type of the features, and of all numbers and sums of the code.
    header : bool, default=False
        Whether to write the header of the code instead, which other files of a program include.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the model is a pipeline whose other steps transform the columns, if `name` is no C
        identifier, if numbers of the model are too large for float32, if a label or a category
        holds a null character or a surrogate, or if a category is infinite, or a number that a
        double cannot be.

    Notes
    -----
    With "double", sums run in the order of this package. Samples in arrays reach the same leaf to
    the last bit, and predictions other than probabilities are equal, if the compiler follows IEEE
    754 and fuses no operations, as gcc does with ``-std=c99`` on current processors, without
    ``-ffast-math``. Probabilities may differ in the last digits. This package sums rows of CSR
    matrices in another order: a row so near to a threshold that rounding decides may go another
    way. Values in place of missing numbers and unknown categories are double in the code, and
    float32 in this package for a table of float32.

    With "float", weights, thresholds and sums are rounded to 24 bits. Samples within that error of
    a threshold may go another way.

    For a model that was trained on categories or missing values, NaN is a missing number, and NULL
    a missing string. For others, a NaN on the path gives -1 for a class, and NaN for a regression.
    No number may be infinite.

    Names of columns that are no identifiers are changed; a comment has the original.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.export import export_c
    >>> code = export_c(Tree([[0.0, 2.0]], [1.0], [~0], [~1], [[0.0], [1.0]]), name="stump")
    >>> "void stump_predict(const stump_real *x, stump_real *out);" in code
    True
    """
    if not isinstance(name, str) or not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"name must be a C identifier, got {name!r}")
    if dtype not in TYPES:
        raise ValueError(f"dtype must be 'double' or 'float', got {dtype!r}")
    exported = ExportedModel(model)
    sample, data = CSample(exported, name, dtype), CData(exported, name, dtype)
    is_classifier = exported.classes is not None
    prototypes = code.CLASSIFIER_PROTOTYPES if is_classifier else code.REGRESSOR_PROTOTYPES
    sample.names |= {
        "n_outputs": exported.n_outputs, "n_trees": len(exported.trees),
        "n_nodes": len(data.thresholds)}
    filled = sample.filled
    declarations = filled(code.TYPES) + sample.declaration() + filled(prototypes)
    if header:
        return filled(code.HEADER, declarations=declarations)
    linear = (code.LINEAR + code.SOFTMAX * exported.averages_probabilities) * data.has_slopes
    # Softmax comes after the mean of logits, or in the leaves if probabilities are averaged.
    softmax = code.SOFTMAX * (is_classifier and not exported.averages_probabilities)
    probabilities = code.PROBABILITIES * (code.SOFTMAX in (softmax + linear))
    products, product = _products(data, exported.n_features)
    return "".join([
        filled(code.HEAD), declarations, data.labels(exported.classes) if is_classifier else "",
        filled("".join(products)), data.text(), filled(code.DOT, product=filled(product)),
        filled(code.ROUTE),
        filled(probabilities + code.TREE, linear=filled(linear)), sample.definitions(),
        filled(code.CLASSIFIER if is_classifier else code.REGRESSOR, softmax=filled(softmax))])


def _products(data, n_features):
    """Templates of the products of rows and samples that a model needs, and of their call."""
    loops = "".join(
        code.SPARSE_LOOP.replace("$group", str(group)) for group in (16, 4) if group <= n_features)
    sparse = code.SPARSE.replace("$loops", loops)
    calls = {(True, False): code.PRODUCT_OF_DENSE, (True, True): code.PRODUCT_OF_EITHER}
    return (
        [code.ROWS, code.DENSE * data.has_dense, sparse * data.has_sparse],
        calls.get((data.has_dense, data.has_sparse), code.PRODUCT_OF_SPARSE))
