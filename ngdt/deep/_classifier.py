"""Classification trees whose splits are networks."""

from dataclasses import dataclass

from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin

from ngdt._estimators.data import ClassifierData
from ngdt.deep._base import DeepTree


@dataclass(eq=False, repr=False)
class DeepTreeClassifier(ClassifierMixin, ClassifierData, DeepTree):
    """Classification tree whose splits are networks.

    The model of Hehn, Kooij & Hamprecht (2020), section 3.4: soft routing in training, hard routing
    in predictions, which evaluate only the nodes on the path of a sample. A greedy tree is
    grown, then all splits are trained together.

    Parameters
    ----------
    split : "linear", CNN or callable, default="linear"
        Function of each node. A callable makes a new ``torch.nn.Module`` for the shape of a
        sample, ``split(input_shape)``. The module maps a batch of shape (n, \\*input_shape) to
        scores of shape (n,) or (n, 1). A sample goes right where the score is positive.
    trunk : CNN, callable or None, default=None
        Makes one module for all nodes, whose outputs of shape (n, n_features) are features for
        linear splits. The features are computed once per sample.
    input_shape : tuple of ints or None, default=None
        Shape of a sample, such as (1, 28, 28) for images of one channel. A row of X is reshaped to
        it. None is (n_features,).
    max_depth : int or None, default=None
        Largest depth of the tree.
    max_leaf_nodes : int, default=16
        Largest number of leaves. A greedy tree splits the leaf with the largest gain first.
    min_samples_leaf : int, default=1
        Least number of training samples on each side of a split of the greedy tree.
    init : {"auto", "greedy", "balanced"}, default="auto"
        "greedy" trains a soft stump for each node, on the samples that reach it. "balanced" is a
        tree with `max_leaf_nodes` leaves of about the same depth, and untrained splits. "auto" is
        "greedy" without a trunk; splits of a trunk can only be trained together.
    stump : Annealed or EndToEnd, default=None
        Trains the stumps. None is the optimizer of the tree or, for "annealed" and None, a shorter
        annealed training.
    optimizer : {"annealed", "end_to_end"}, Annealed, EndToEnd or None, default="annealed"
        Trains the whole tree. "annealed" is ``Annealed(learning_rate=0.003, weight_decay=0.0)``,
        "end_to_end" the EM of Hehn et al. (2020), ``EndToEnd()``. None keeps the greedy tree.
    standardize : bool, "auto" or "global", default="auto"
        As for :class:`ngdt.ObliqueTreeClassifier`: how X is scaled for the networks.
    n_jobs : int or None, default=None
        Number of threads of PyTorch in `fit`; None is 1. The order of sums depends on it, so the
        tree may depend on it, too. Predictions use ``torch.get_num_threads()`` threads.
    verbose : int, default=0
        1 shows how much is done, 2 also prints a line per epoch of the whole tree.
    callback : callable or None, default=None
        Called with a dict of metrics after each epoch of the whole tree.
    random_state : int, RandomState or None, default=None
        Seeds the networks and the mini-batches.

    Attributes
    ----------
    tree_ : Tree
        The structure and the leaves. It splits the scores of its nodes or, with a trunk, the
        features of the trunk: see `features`.
    weights_ : list of dict, or dict
        Parameters of the module of each node, or of the trunk, as arrays by name.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    n_classes_, n_outputs_ : int
        Number of classes, and 1.
    history_ : dict of str to list
        Metrics of each epoch of the training of the whole tree.
    n_iter_ : int
        Number of these epochs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X has names of columns.

    See Also
    --------
    ngdt.ObliqueTreeClassifier : Linear splits without PyTorch, far faster.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ngdt.deep import CNN, DeepTreeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> tree = DeepTreeClassifier(
    ...     CNN((8,), kernel_size=3), input_shape=(1, 8, 8), max_leaf_nodes=10, random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.9    # doctest: +SKIP
    True
    """

    def predict(self, X):
        """Most probable label of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self._leaf_values(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """Probability of each label in the leaf that a sample reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return softmax(self._leaf_values(X), axis=1)

    def predict_log_proba(self, X):
        """Logarithm of the probability of each label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return log_softmax(self._leaf_values(X), axis=1)
