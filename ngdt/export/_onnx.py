"""Models as ONNX, and as converters for skl2onnx.

The packages are optional: ``pip install "ngdt[onnx]"``. They are imported by the functions.
"""

from ngdt._estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._forest import ObliqueForestClassifier, ObliqueForestRegressor
from ngdt._util.optional import import_optional
from ngdt.export._model import ExportedModel

_OPSETS = {"": 17, "ai.onnx.ml": 3}
_IR_VERSION = 8


def export_onnx(model, *, dtype="float"):
    """Export a tree or a forest as an ONNX model.

    A matrix product gives the scores of all nodes, an ensemble of trees finds the leaf of each
    tree, and the predictions are looked up. NaN is a missing value, and is replaced as the model
    does; a `Tree` has to have none.

    Parameters
    ----------
    model : Tree or fitted estimator
    dtype : {"float", "double"}, default="float"
        Type of the input, and of all numbers and sums.

    Returns
    -------
    onnx.ModelProto
        The input is ``X``, of shape (n_samples, n_features). A model that was trained on a table
        with categories has an input of shape (n_samples, 1) for each column, under its name. A
        classifier has the outputs ``label`` and ``probabilities``, others ``variable``, of shape
        (n_samples, n_outputs). Labels are strings, or int64.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError
        If the labels are neither all strings nor all integers of int64.
    ValueError
        If the model is a pipeline whose other steps transform the columns, if numbers of the model
        are too large for `dtype`, other than limits of single features, or if labels or categories
        have no place in ONNX: a string with a null character or a surrogate, an empty one beside
        missing values, or a category that is infinite, or a number that a double cannot be.

    Notes
    -----
    Splits on a single feature take the same decisions as the tree, for samples of that `dtype`.
    Weighted sums are rounded: a sample whose score is within rounding errors may go another way.

    Categories are strings or, if they are numbers, double. ONNX has no missing strings: the empty
    string stands for them. If the graph needs the name of a column, such as "label", the input
    begins with "_".

    Examples
    --------
    >>> from onnxruntime import InferenceSession    # doctest: +SKIP
    >>> from ngdt.export import export_onnx
    >>> onnx_model = export_onnx(tree)              # doctest: +SKIP
    >>> session = InferenceSession(onnx_model.SerializeToString())      # doctest: +SKIP
    >>> label, probabilities = session.run(None, {"X": X.astype("float32")})    # doctest: +SKIP
    """
    onnx = _import("onnx")
    helper, types = onnx.helper, onnx.TensorProto
    from ngdt.export._onnx_graph import TYPES, GraphBuilder, inputs_of

    if dtype not in TYPES:
        raise ValueError(f"dtype must be 'float' or 'double', got {dtype!r}")
    exported = ExportedModel(model)
    type_, k = TYPES[dtype][1], exported.n_outputs
    is_classifier = exported.classes is not None
    names = ["label", "probabilities"] if is_classifier else ["variable"]
    inputs = inputs_of(exported, dtype, names)
    builder = GraphBuilder(exported, dtype)
    builder.predict([each.name for each in inputs], names)
    outputs = [helper.make_tensor_value_info(names[-1], type_, [None, k])]
    if is_classifier:
        label = types.STRING if isinstance(exported.classes[0], str) else types.INT64
        outputs.insert(0, helper.make_tensor_value_info("label", label, [None]))
    graph = helper.make_graph(builder.nodes, "ngdt", inputs, outputs, builder.constants)
    opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="ngdt")


def register_onnx_converters():
    """Let skl2onnx convert pipelines with the estimators of this package.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.

    Notes
    -----
    A model that was trained on a table with categories is refused: encode them by a step of the
    pipeline, such as a OneHotEncoder, or convert the model alone by `export_onnx`.

    Examples
    --------
    >>> from skl2onnx import to_onnx                # doctest: +SKIP
    >>> from ngdt.export import register_onnx_converters
    >>> register_onnx_converters()                  # doctest: +SKIP
    >>> onnx_model = to_onnx(pipeline, X[:1].astype("float32"))     # doctest: +SKIP
    """
    skl2onnx = _import("skl2onnx")
    shapes = _import("skl2onnx.common.shape_calculator")
    for classifier in (ObliqueTreeClassifier, ObliqueForestClassifier):
        skl2onnx.update_registered_converter(
            classifier, f"Ngdt{classifier.__name__}",
            shapes.calculate_linear_classifier_output_shapes, _convert,
            options={"zipmap": [True, False, "columns"], "nocl": [True, False],
                     "output_class_labels": [False, True]})
    for regressor in (ObliqueTreeRegressor, ObliqueForestRegressor):
        skl2onnx.update_registered_converter(
            regressor, f"Ngdt{regressor.__name__}", _set_shape, _convert)


def _set_shape(operator):
    """Set the shape of the predictions of a regressor, of one target or several."""
    shapes = _import("skl2onnx.common.shape_calculator")
    shapes.calculate_linear_regressor_output_shapes(operator)
    operator.outputs[0].type.shape[1] = operator.raw_operator.n_outputs_


def _convert(scope, operator, container):
    """Add the operators of an estimator to a graph of skl2onnx."""
    helper = _import("onnx").helper
    from ngdt.export._onnx_graph import GraphBuilder

    data_types = _import("skl2onnx.common.data_types")
    (x,), outputs = operator.inputs, [output.full_name for output in operator.outputs]
    is_double = isinstance(x.type, data_types.DoubleTensorType)
    source = x.full_name
    if not isinstance(x.type, data_types.DoubleTensorType | data_types.FloatTensorType):
        source = scope.get_unique_variable_name("ngdt_float")
        container.add_node("Cast", [x.full_name], [source], to=1, op_version=13)
    exported = ExportedModel(operator.raw_operator)
    if exported.has_categories:
        raise ValueError(
            "model was trained on a table with categories, which skl2onnx does not pass on: encode "
            "them by a step of the pipeline, such as a OneHotEncoder, or convert the model alone "
            "by export_onnx")
    if exported.classes and scope.get_options(operator.raw_operator, {"nocl": False})["nocl"]:
        exported.classes = list(range(exported.n_outputs))      # labels are indices
    # Another estimator of the graph has other names.
    builder = GraphBuilder(exported, "double" if is_double else "float",
                           scope.get_unique_variable_name("ngdt"))
    builder.predict([source], outputs)
    container.initializers.extend(builder.constants)
    for node in builder.nodes:
        container.add_node(
            node.op_type, [*node.input], [*node.output], op_domain=node.domain, name=node.name,
            op_version=_OPSETS[node.domain] if node.domain else 13,
            **{each.name: helper.get_attribute_value(each) for each in node.attribute})


def _import(name):
    return import_optional(name, "exports to ONNX need", "ngdt[onnx]")
