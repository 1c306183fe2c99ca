"""The report of `ngdt compare`: one HTML file, with the picture of the tree in it."""

from base64 import b64encode
from html import escape
from pathlib import Path
from string import Template

from ngdt._util.numbers import count
from ngdt._util.version import __version__
from ngdt.cli._contenders import CONTENDERS
from ngdt.cli._formats import image, pyplot, write
from ngdt.export import export_text
from ngdt.plotting import plot_tree

# Columns of each condition of the text of a tree.
_N_TERMS = 5

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2rem }
.wide { overflow-x: auto } table { border-collapse: collapse }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #ddd;
         white-space: nowrap }
img { max-width: 100%; height: auto }
figcaption, .note { color: #555; font-size: .9rem }
pre { overflow-x: auto }
@media print { pre { white-space: pre-wrap } }
</style>
</head>
<body>
<h1>$title</h1>
<p>$description</p>
<h2>Models</h2>
<div class="wide">$table</div>
$notes
$trees
<p class="note">Made by ngdt $version.</p>
</body>
</html>
""")

_NOTES = Template("""<ul class="note">$described</ul>
<p class="note">Intervals, in parentheses, are of 95 %: those of accuracies are Wilson's, all others
percentiles of a bootstrap of the rows. They say how far chance in these rows could move a score,
not how it would vary with other training rows. $columns To compare two models, take the column of
differences: models err on the same rows, so that a difference is known better than the scores. If
its interval contains 0, these rows do not tell whether the model is better than the $first. The
size is measured as a pickle. Times are wall time on the machine that made this report, with
$threads: to train on all rows, and to predict all rows at once, divided by their number.</p>""")

# Of columns that not each report has.
_COLUMNS = {
    "AUC": "AUC is the area under the ROC curve (1 is best).",
    "log loss": "The log loss is the mean of minus the logarithm of the probability of the true "
                "class (0 is best).",
}


def write_report(path, data, task, n_folds, n_threads, models, table):
    """Write the report.

    Parameters
    ----------
    path : str
    data : Data
    task : str
    n_folds, n_threads : int
    models : dict of str to estimator
        The models by name, trained on all rows.
    table : list of list of str
        The numbers on the models, below their heads.
    """
    title = f"Models for {escape(Path(data.path).name)}"
    target = getattr(data.y, "name", None)      # of a column
    description = escape(
        f"{count(len(data.y), 'row')}, {count(data.X.shape[1], 'column')}, {task}"
        f"{'' if target is None else f' of {target!r}'}. Each model was "
        f"trained {n_folds} times, without a fold of the rows each time, and tested on that fold. "
        f"The {table[0][1]} is measured on all these predictions. No parameter was tuned.")
    write(_PAGE.substitute(
        title=title, description=description, table=_html(table),
        notes=_notes(models, n_threads, table[0]), trees=_trees(models),
        version=__version__), path)


def _html(table):
    kinds = ["th", *["td"] * (len(table) - 1)]
    lines = ["".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row)
             for kind, row in zip(kinds, table, strict=True)]
    return f"<table><tr>{'</tr><tr>'.join(lines)}</tr></table>"


def _notes(models, n_threads, heads):
    described = ""
    for name, model in models.items():
        described += f"<li><b>{name}</b>: {CONTENDERS[name].what}"
        if name == "tree":     # what the default has become
            described += f". On all rows:<pre>{escape(model.summary())}</pre>"
        described += "</li>"
    return _NOTES.substitute(
        described=described, first=next(iter(models)), threads=count(n_threads, "thread"),
        columns=" ".join(_COLUMNS[head] for head in heads if head in _COLUMNS))


def _trees(models):
    """The picture of the tree, and the text of both trees."""
    pictures = [_picture(models["tree"])] if "tree" in models else []
    return "\n".join([*pictures, *(
        f"<h2>The {what} as text</h2>\n<pre>"
        f"{escape(export_text(models[name], n_terms=_N_TERMS))}</pre>"
        for name, what in (("tree", "tree"), ("pruned", "pruned tree")) if name in models)])


def _picture(tree):
    try:
        pyplot()
    except ImportError as error:
        return f'<p class="note">There is no picture of the tree: {escape(str(error))}</p>'
    data = b64encode(image(plot_tree(tree).figure)).decode()
    text = "The tree trained on all rows"
    return (f'<h2>The tree</h2>\n<figure><img alt="{text}" src="data:image/png;base64,{data}">'
            f"<figcaption>{text}</figcaption></figure>")
