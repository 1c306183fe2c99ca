"""
Smooth weights
==============

On images, the weights of a split are an image too, and often a noisy one: pixels that are nearly
always alike can share a weight in any way. A penalty on differences between neighbouring pixels
(eq. :eq:`soft-15`) makes the pictures easier to read. What does it cost?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.optimizers import EndToEnd
from ngdt.plotting import plot_weights

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)


def fit(penalty, seed=0):
    """A tree of depth 5, trained by EM."""
    optimizer = EndToEnd(
        epochs=100,
        batch_size=50,
        learning_rate=0.01,
        spatial_penalty=penalty,
        image_shape=(8, 8),
    )
    model = ObliqueTreeClassifier(
        max_depth=5,
        optimizer=optimizer,
        standardize="global",  # one scale for all pixels, or the penalty means another in each
        validation_fraction=None,
        random_state=seed,
    )
    return model.fit(X_train, y_train)


# %%
# The first three levels of both trees. Red pixels send an image to the right, blue ones to the
# left.

nodes = range(7)
figure = plt.figure(figsize=(9, 3.8), layout="constrained")
for part, penalty in zip(figure.subfigures(2, 1), (0.0, 0.01), strict=True):
    model = fit(penalty)
    axes = part.subplots(1, len(nodes))
    plot_weights(model, shape=(8, 8), nodes=nodes, axes=axes)
    for ax, level in zip(axes, (0, 1, 1, 2, 2, 2, 2), strict=True):
        ax.set_title(f"level {level}", fontsize=9)
    right = 100 * model.score(X_test, y_test)
    part.suptitle(f"spatial_penalty={penalty:g}: {right:.1f} % of the test images right")

# %%
# More of the penalty
# -------------------
#
# A single run says little about a point or two, so here is the mean over five seeds. On these small
# images, a little smoothness costs about two points, and much of it several.

for penalty in (0.0, 0.001, 0.01, 0.1):
    scores = [fit(penalty, seed).score(X_test, y_test) for seed in range(5)]
    print(f"spatial_penalty={penalty:<6g} {100 * sum(scores) / len(scores):.1f} %")
plt.show()
