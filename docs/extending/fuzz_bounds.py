"""Laws of the bounds on the loss, as tests."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.inference import empirical_loss, loss_augmented_inference, upper_bound
from ngdt.testing.strategies import assignments, problems, samples


@given(problems())
def test_loss_below_fast_below_full(problem):
    tree, X, y, loss = problem
    fast = upper_bound(tree, X, y, loss=loss, inference="fast")
    full = upper_bound(tree, X, y, loss=loss, inference="full")
    assert (empirical_loss(tree, X, y, loss=loss) <= fast).all()
    assert (fast <= full).all()


# Larger weights change no decision, and the bound gets tighter (proposition 1).
def scaled(tree, factor):
    return Tree(
        factor * tree.weights,
        factor * tree.thresholds,
        tree.children_left,
        tree.children_right,
        tree.values,
    )


@given(problems(), st.sampled_from(["fast", "full"]), st.integers(1, 10))
def test_larger_weights_tighten_the_bound(problem, kind, exponent):
    tree, X, y, loss = problem
    larger = scaled(tree, 2.0**exponent)
    bound = upper_bound(tree, X, y, loss=loss, inference=kind)
    tighter = upper_bound(larger, X, y, loss=loss, inference=kind)
    assert (tighter <= bound).all()
    assert (empirical_loss(larger, X, y, loss=loss) <= tighter).all()


# Every assignment of samples to leaves gives a bound, by eq. (14).
@given(problems(), st.data())
def test_any_assignment_gives_a_bound(problem, data):
    tree, X, y, loss = problem
    leaf = data.draw(assignments(n_leaves=st.just(tree.n_leaves), n_samples=st.just(len(y))))
    stable = upper_bound(tree, X, y, loss=loss, assignment=leaf)
    assert (upper_bound(tree, X, y, loss=loss) <= stable).all()


# Pruning the search only saves scores.
@given(problems(), st.sampled_from(["fast", "full"]))
def test_pruning_is_exact(problem, kind):
    tree, X, y, loss = problem
    pruned = loss_augmented_inference(tree, X, y, loss=loss, inference=kind)
    whole = loss_augmented_inference(tree, X, y, loss=loss, inference=kind, prune=False)
    assert (pruned.bound == whole.bound).all()
    assert (pruned.leaf == whole.leaf).all()
    assert (pruned.n_scored <= whole.n_scored).all()


# A tree of your own: a sample on which its bound fails would be found.
rng = np.random.default_rng(0)
points = rng.normal(size=(300, 2))
labels = (points.sum(axis=1) > 0).astype(int)
trained = ObliqueTreeClassifier(
    max_depth=3, leaf="constant", random_state=0).fit(points, labels).tree_


@given(samples(n_features=st.just(2)), st.integers(0, 1))
def test_bound_of_the_trained_tree(X, label):
    y = np.full(X.shape[0], label)
    assert (empirical_loss(trained, X, y) <= upper_bound(trained, X, y)).all()
