"""Sphinx configuration. The build needs no network: sphinx-build -n -W docs docs/_build/html."""

import os
import re
import warnings

os.environ["MPLBACKEND"] = "agg"

import sphinx.ext.autosummary
from sphinx_gallery.sorting import ExplicitOrder

import ngdt

warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

project = "ngdt"
author = "The ngdt developers"
copyright = "2026, The ngdt developers"
version = release = ngdt.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # brings MathJax along: the pages need no network either
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "api/templates"]
templates_path = ["templates"]
root_doc = "index"
default_role = "literal"

# API pages
autosummary_generate = True
sphinx.ext.autosummary.WELL_KNOWN_ABBREVIATIONS += ("eq.", "eqs.")  # no end of a sentence
autodoc_mock_imports = ["dask"]  # the pages need no dask
toc_object_entries_show_parents = "hide"  # the list beside a page has no room for them
autodoc_typehints = "none"  # the stubs have the types; docstrings say shapes and units too
numpydoc_show_class_members = False  # the templates list them
numpydoc_class_members_toctree = False
numpydoc_validation_checks = {
    "GL01",  # text starts on the line after the quotes, or on theirs
    "GL05",  # no tabs
    "GL06",  # only sections that numpydoc knows ...
    "GL07",  # ... in its order
    "GL08",  # every public object has a docstring
    "SS01",  # with a summary ...
    "SS03",  # ... that ends with a period
    "PR01",  # every parameter is documented,
    "PR02",  # nothing else is,
    "PR03",  # in the order of the signature,
    "PR10",  # with a space before the colon
}
# Cython does not say what parameters the __init__ of a class has, and a NamedTuple documents its
# fields as attributes. (That functions have examples, and that they work, is a test.)
numpydoc_validation_exclude = {
    r"^ngdt\.Tree$",
    r"^ngdt\.losses\.\w*Loss$",
    r"^ngdt\.dask\.\w+$",  # parameters are those in memory
    r"^ngdt\.explanation\.\w+$",
    r"^ngdt\.inference\.(InferenceResult|SurrogateGradient)$",
    r"^ngdt\.optimizers\.OptimizerResult$",
    r"^ngdt\.export\.LeafRule$",
    r"^ngdt\.path\.(SizePath|Spread|TAOPath)$",
    r"^ngdt\.testing\.strategies\.(TreeProblem|Dataset)$",
}

# Everything that a name may refer to outside this project; no inventory is downloaded.
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|np|scipy|sklearn|joblib|matplotlib|hypothesis)(\..*)?"),
    # numpydoc makes a link of a property, which has no entry
    ("py:obj", "kind_|n_node_samples_|estimators_samples_|encoded_monotonic_cst_|"
     "feature_importances_"),
]

math_numfig = False
math_eqref_format = "({number})"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": ExplicitOrder([    # what shows most comes first
        f"plot_{name}.py" for name in (
            "readable_tree", "few_of_many", "score_bands", "size", "soft_training", "gto",
            "monotone", "model_tree", "outlier", "sql", "explanation", "images", "table",
            "quantiles", "boosting", "bound")]),
    "thumbnail_size": (520, 360),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "capture_repr": (),
    "min_reported_time": 0,
    "plot_gallery": "True",
    "parallel": 2,     # processes
}

html_theme = "pydata_sphinx_theme"
html_title = f"ngdt {version}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
# Pages without neighbours in their section need no list of them.
html_sidebars = {page: [] for page in ("index", "quickstart", "extending/index")}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
}


def _as_in_python(app, what, name, obj, options, signature, return_annotation):
    """Leave out the self and the C types of the signatures that Cython embeds."""
    if what == "method" and signature:
        signature = signature.replace("(self, ", "(").replace("(self)", "()")
        signature = re.sub(r"(const )?\w+(\[::1\])? (?=\w+[,)=])", "", signature)
    return signature, return_annotation


def setup(app):
    # Before numpydoc, which takes the signature as it is in the docstring.
    app.connect("autodoc-process-signature", _as_in_python, priority=400)
