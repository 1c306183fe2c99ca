"""
Explain a prediction: what would have to change for another one
===============================================================

Why does a tree call this tumour malignant, and what is the smallest change to "benign"?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.optimizers import TAO
from ngdt.plotting import plot_explanation

data = load_breast_cancer(as_frame=True)
X, y = data.data.filter(like="worst "), data.target_names[data.target]
X.columns = X.columns.str.removeprefix("worst ")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# The smallest changes lead just across the boundary. Distances are in standard deviations of the
# features.

two = ["radius", "texture"]
tree = ObliqueTreeClassifier(max_depth=2, optimizer="tao", random_state=0)
tree.fit(X_train[two], y_train)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
DecisionBoundaryDisplay.from_estimator(
    tree, X_test[two], response_method="predict", grid_resolution=500, cmap="coolwarm", alpha=0.4,
    ax=ax)
for label, color in (("benign", "tab:blue"), ("malignant", "tab:red")):
    ax.scatter(*X_test.loc[y_test == label, two].to_numpy().T, s=9, color=color, label=label)
ax.legend(loc="upper right")
some = X_test[two].iloc[[1, 5, 8, 14]]
for explanation, before in zip(tree.explain(some), some.to_numpy(), strict=True):
    changes = explanation.changes_of_one_column()
    for change in [explanation.smallest_change(), *changes]:
        after = dict(zip(two, before, strict=True)) | change.values
        color = "0.4" if change in changes else "black"
        ax.annotate("", [after[name] for name in two], before,
                    arrowprops={"arrowstyle": "->", "color": color, "linewidth": 2})
ax.set_title("The least changes that make the tree call four tumours malignant:\n"
             "of both features together (black), and of one alone (grey)")
plt.show()

# %%
# The same for a tumour near the boundary, and a tree of ten features. Each decision begins with the
# margin of the mean tumour, to which each feature adds a term.

tree = ObliqueTreeClassifier(max_leaf_nodes=3, optimizer=TAO(C=0.05), random_state=0)
tree.fit(X_train, y_train)
print(f"test accuracy {tree.score(X_test, y_test):.1%}")
explanation = min(tree.explain(X_test[tree.predict(X_test) == "malignant"]),
                  key=lambda each: each.smallest_change().distance)
plot_explanation(explanation)
plt.show()

# %%
# As text, with the changes that would lead to another prediction:

print(explanation)
