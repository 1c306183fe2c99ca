"""
Explaining a prediction
=======================

Why does a tree call this tumour malignant, and what is the least that would change its mind?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.optimizers import TAO
from ngdt.plotting import plot_regions

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
tree = ObliqueTreeClassifier(max_depth=3, optimizer=TAO(C=0.3), random_state=0)
tree.fit(X_train, y_train)
print(f"{tree.get_n_leaves()} leaves, test accuracy {100 * tree.score(X_test, y_test):.1f} %")

# %%
# A sample near a boundary. Each decision begins with the margin of the mean sample, and what each
# feature adds leads to the margin of this one: left where it is negative, right where it is
# positive.

malignant = X_test[tree.predict(X_test) == "malignant"]
explanations = tree.explain(malignant)
distances = [each.smallest_change().distance for each in explanations]
explanation = explanations[int(np.argmin(distances))]
print(explanation)
explanation.plot()
plt.show()

# %%
# The smallest changes lead just across the boundary: of all features together (black), and of one
# alone (grey). Here they are drawn for a tree of two features. The distance is measured in standard
# deviations.

two = ["worst radius", "worst texture"]
small = ObliqueTreeClassifier(max_depth=2, optimizer="tao", random_state=0)
small.fit(X_train[two], y_train)
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
plot_regions(small, X_test[two], y_test, ax=ax)
some = X_test[two].iloc[[1, 5, 8, 14]]
for explanation, before in zip(small.explain(some), some.to_numpy(), strict=True):
    changes = explanation.changes_of_one_column()
    for change in [explanation.smallest_change(), *changes]:
        after = dict(zip(two, before, strict=True)) | change.values
        color = "0.45" if change in changes else "black"
        ax.annotate("", [after[name] for name in two], before,
                    arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1.5})
plt.show()
