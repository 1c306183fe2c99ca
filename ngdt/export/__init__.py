"""Trees as text and tables, and in the languages of other programs."""

from ngdt.export._c import export_c
from ngdt.export._frame import export_frame
from ngdt.export._graphviz import export_graphviz
from ngdt.export._held_out import HeldOutLeaf
from ngdt.export._html import export_html
from ngdt.export._json import export_json
from ngdt.export._leaf_rules import LeafRule, export_rules
from ngdt.export._onnx import export_onnx, register_onnx_converters
from ngdt.export._sql import export_sql
from ngdt.export._text import export_text

__all__ = [
    "HeldOutLeaf",
    "LeafRule",
    "export_c",
    "export_frame",
    "export_graphviz",
    "export_html",
    "export_json",
    "export_onnx",
    "export_rules",
    "export_sql",
    "export_text",
    "register_onnx_converters",
]
