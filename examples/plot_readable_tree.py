"""
A small decision tree that you can read (breast cancer)
=======================================================

Is a tumour benign or malignant? The tree on the left asks for one measurement at a time. The tree
on the right adds measurements up. It has fewer leaves, and is right more often.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score

from ngdt import ObliqueTreeClassifier, export_text, plot_tree
from ngdt.optimizers import TAO

# %%
# Ten measurements of the largest cells of 569 tumours. Cross-validation prunes the tree on the
# left; a small ``C`` of :class:`~ngdt.optimizers.TAO` leaves few weights in the splits of the other
# one. A bar is as long as the effect of a measurement on the sum, and points to the side
# to which larger values lead.

data = load_breast_cancer(as_frame=True)
X, y = data.data.filter(like="worst "), data.target_names[data.target]
X.columns = X.columns.str.removeprefix("worst ")
models = {
    "one measurement at a time": ObliqueTreeClassifier(init="pruned", optimizer=None),
    "trained as a whole": ObliqueTreeClassifier(max_leaf_nodes=3, optimizer=TAO(C=0.05)),
}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
figure = plt.figure(figsize=(9.5, 5.5))
for part, (name, model) in zip(
        figure.subfigures(1, 2, width_ratios=(5, 4)), models.items(), strict=True):
    model.set_params(random_state=0).fit(X, y)
    plot_tree(model, max_depth=None, ax=part.add_axes((0.01, 0, 0.98, 0.9)))
    accuracy = 100 * cross_val_score(model, X, y, cv=folds).mean()
    part.suptitle(f"{name}: {model.get_n_leaves()} leaves,\n{accuracy:.1f} % of new patients right")
plt.show()

# %%
# The tree on the right as text, with all terms of the sum. No weight is negative: larger cells of
# a rougher shape are worse, whatever the other numbers are.

print(export_text(models["trained as a whole"], precision=2, n_terms=None))
