"""The numbers of trees of each candidate in a forest: those with the least error in a trial.

A few trees of each kind are trained without a third of the samples, the same for all kinds. The
squared error of a forest is a quadratic function of how many trees it has of each kind. Its
coefficients are means of products of errors over pairs of trees, on samples that were held out of
both. So the error of any forest of these samples, of one kind or several, of few trees or many, is
estimated without bias from the few trees that there are. The numbers of trees with the least
estimate depend on chance, and lean too much on the kinds that had luck: they are found for several
weightings of the held-out samples by chance, the Bayesian bootstrap of Rubin (1981), and their
means are taken. The trees of the forest itself may draw of all samples.
"""

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from scipy.special import softmax

from ngdt._forest.training import Growth
from ngdt._selection import policy
from ngdt._selection.sample import draw
from ngdt._training.folds import fold_samples

# Columns of the table that `compete` returns.
_COLUMNS = "candidate", "error", "share", "n_trees"


def compete(growth, recipes, seeds, previous):
    """Train the trees of a forest of the kinds with the least estimated error.

    Parameters
    ----------
    growth : Growth
        Gets the trees.
    recipes : dict of str to Recipe
        How trees are made, for the name of each kind.
    seeds : sequence of int
        One for each tree that the forest is to get.
    previous : dict of lists
        What was returned for the forest that the trees are added to: the shares of the kinds stay.
        Empty for a new forest.

    Returns
    -------
    dict of lists
        One entry per kind: ``candidate`` is its name, ``error`` the estimated error of a forest of
        this kind, ``share`` the part of the trees that is to be of this kind, and ``n_trees`` the
        number of those that the forest has.
    """
    if previous or len(seeds) < policy.MIN_TREES or not (
            _predicts_means(growth.problem.loss) and fold_samples(growth.problem)):
        table = _continued(previous, recipes) if previous else (
            _table(list(recipes)[:1], [np.nan], [1]))
        return _grow(growth, recipes, table, seeds)
    many = len(growth.problem.training_samples) >= policy.MANY_SAMPLES
    n_trial = policy.N_TRIAL_OF_MANY if many else policy.N_TRIAL
    trial = _Trial(growth, recipes, seeds[:n_trial], len(seeds))
    names = list(recipes)[:len(trial.trees)]
    if trial.interrupted or not names:
        growth.interrupted, growth.trees = trial.interrupted, trial.trees_instead(len(seeds) - 1)
        return {}
    sums = trial.error_sums()
    model = sums.model(np.ones(policy.N_PARTS))
    random = np.random.RandomState(growth.problem.random_state)
    counts = sums.mean_best_counts(len(seeds), random)
    errors = [model.error(len(seeds) * one) for one in np.eye(len(names), dtype=np.intp)]
    table = _table(names, errors, counts)
    if growth.problem.control.verbose > 1:
        _report(names, errors, counts)
    return _grow(growth, recipes, table, seeds)


def _continued(previous, recipes):
    """The table of a forest that gets more trees, with shares of the kinds that there are now.

    Of data of another size, some kinds are not trained. The first one then takes their place.
    """
    # A forest that an earlier version has saved has no shares.
    table = {"share": previous["n_trees"]} | previous
    rows = {name: [error, share, n] for name, error, share, n in zip(
        *(table[column] for column in _COLUMNS), strict=True)}
    first = rows.setdefault(next(iter(recipes)), [np.nan, 0.0, 0])
    for name in rows.keys() - recipes.keys():
        first[1] += rows[name][1]
        rows[name][1] = 0.0
    return dict(zip(_COLUMNS, ([*rows], *map(list, zip(*rows.values(), strict=True))), strict=True))


def _grow(growth, recipes, table, seeds):
    """Train trees of the kinds of a table, and count those that were trained."""
    counts = _in_proportion(table["share"], len(seeds), table["n_trees"])
    growth.add(_tasks(recipes, table["candidate"], counts, seeds))
    return table | {"n_trees": [
        n + sum(tree.recipe is recipes.get(name) for tree in growth.trees)
        for name, n in zip(table["candidate"], table["n_trees"], strict=True)]}


def _predicts_means(loss):
    """Whether predictions are means, which have the least squared error."""
    return loss.is_classifier or loss.is_squared or loss.has_log_link


class _Trial:
    """A few trees of each kind. Those of one seed are trained without the same fold."""

    def __init__(self, growth, recipes, seeds, n_trees):
        whole = growth.problem
        problem = draw(whole, min(
            policy.MAX_TRIAL_SAMPLES, policy.MAX_TRIAL_VALUES // whole.X.shape[1]))
        folds = fold_samples(problem)
        self.problem, self.targets = problem, growth.fitted["_targets"]
        self.held_out = [folds[j % len(folds)] for j in range(len(seeds))]
        n_trial = len(recipes) * len(seeds)
        control = problem.control.quiet().with_time(policy.TRIAL_TIME).part(
            n_trial / (n_trial + n_trees), "comparing kinds of trees")
        trial = Growth(problem.replace(control=control), growth.fitted, growth.tasks,
                       growth.attributes)
        trial.add([
            (_without(recipe, fold, problem, whole), seed) for recipe in recipes.values()
            for fold, seed in zip(self.held_out, seeds, strict=True)], "trial of kinds")
        self.interrupted, self.all_trees = trial.interrupted, trial.trees
        # Those of each kind of which all were trained.
        n = len(seeds)
        self.trees = [trial.trees[n * k:n * (k + 1)] for k in range(len(trial.trees) // n)]

    def trees_instead(self, n_most):
        """Trees of the trial for a forest whose training ended here.

        They have no seeds, since the samples that they drew are not those of a forest: nobody is to
        take a sample that they were trained on for one that they did not draw.
        """
        trees = self.all_trees[:n_most]
        for tree in trees:
            tree.attributes["random_state"] = None
        return trees

    def error_sums(self):
        weight = self.problem.sample_weight
        outside = np.zeros((len(self.held_out), len(weight)), dtype=bool)
        for each, fold in zip(outside, self.held_out, strict=True):
            each[fold] = True
        errors = [errors_of(self.problem, [
            self.targets.scale_leaf_values(tree.attributes["tree_"], self.problem.loss)
            for tree in trees]) for trees in self.trees]
        return ErrorSums.of(errors, outside, weight, policy.N_PARTS)


def _without(recipe, fold, problem, whole):
    """The recipe for trees that draw none of a fold of the problem, and from the others as many
    samples, relative to all, as from the whole problem.
    """
    n_drawn = recipe.sampling.n_drawn
    share = (len(problem.training_samples) - len(fold)) / len(whole.training_samples)
    return replace(recipe, sampling=replace(
        recipe.sampling, held_out=fold,
        n_drawn=None if n_drawn is None else max(1, round(share * n_drawn))))


def _tasks(recipes, names, counts, seeds):
    """Recipe and seed of each tree. Kinds take turns: a forest that is cut has some of all."""
    chosen = chain.from_iterable(
        [recipes.get(name)] * n for name, n in zip(names, counts, strict=True))
    tasks = list(zip(chosen, seeds, strict=False))
    turns = [(j + 0.5) / n for n in counts for j in range(n)]
    return [tasks[i] for i in np.argsort(turns, kind="stable")]


def _in_proportion(shares, n_more, present=None):
    """How many of further trees are of each kind, so that their numbers come close to shares.

    Parameters
    ----------
    shares : sequence of float
    n_more : int
    present : sequence of int, default=None
        Numbers of the trees that there are. None stands for no trees.

    Returns
    -------
    list of int
    """
    more = [0] * len(shares)
    present = present or more.copy()
    for _ in range(n_more):
        k = max(range(len(shares)), key=lambda k: shares[k] / (present[k] + more[k] + 1))
        more[k] += 1
    return more


def _table(names, errors, counts):
    """What `compete` returns, before there are trees."""
    return dict(zip(_COLUMNS, (
        names, [float(each) for each in errors], [float(each / sum(counts)) for each in counts],
        [0] * len(names)), strict=True))


def _report(names, errors, counts):
    shown = "  ".join(f"{name} {error:.4g} ({n} trees)" for name, error, n in zip(
        names, errors, counts, strict=True))
    print(f"[forest] estimated squared error: {shown}")


@dataclass(frozen=True, eq=False)
class ErrorSums:
    """What tells the error of forests, summed over each of several parts of the samples.

    Attributes
    ----------
    products : ndarray of shape (n_parts, n_kinds, n_kinds)
        Products of the errors of two different trees of these kinds.
    squares : ndarray of shape (n_parts, n_kinds)
        Squared errors of trees.
    n_products, n_squares : ndarray of shape (n_parts,)
        Weights of these sums.
    """

    products: np.ndarray
    squares: np.ndarray
    n_products: np.ndarray
    n_squares: np.ndarray

    @classmethod
    def of(cls, errors, outside, sample_weight, n_parts=1):
        """Sum the errors of some trees of each kind.

        Parameters
        ----------
        errors : sequence of ndarray of shape (n_trees, n_samples, n_outputs)
            Prediction minus target, of the trees of each kind.
        outside : ndarray of bool, shape (n_trees, n_samples)
            Whether a sample was held out of a tree. It is the same for all kinds.
        sample_weight : ndarray of shape (n_samples,)
        n_parts : int, default=1
        """
        sums = []
        for part in range(n_parts):
            samples = slice(part, None, n_parts)
            held_out, weight = outside[:, samples], sample_weight[samples]
            factor = held_out[:, :, None] * np.sqrt(weight)[:, None]
            own = np.array([(each[:, samples] * factor).reshape(len(outside), -1)
                            for each in errors])
            totals = own.sum(axis=1)
            own = own.reshape(len(errors), -1)
            squares = own @ own.T       # of trees with the same samples
            n_outside = held_out.sum(axis=0)
            sums.append((totals @ totals.T - squares, np.diag(squares),
                         (n_outside * (n_outside - 1)) @ weight, n_outside @ weight))
        return cls(*map(np.array, zip(*sums, strict=True)))

    def model(self, part_weight):
        """The errors that follow from parts of these weights."""
        products = np.tensordot(part_weight, self.products, 1) / (part_weight @ self.n_products)
        squares = part_weight @ self.squares / (part_weight @ self.n_squares)
        return ErrorModel(products, squares - np.diag(products))

    def mean_best_counts(self, n_trees, random):
        """Numbers of trees of each kind: means of the best ones for parts of random weights.

        Parameters
        ----------
        n_trees : int
        random : RandomState

        Returns
        -------
        list of int
        """
        weightings = random.exponential(size=(policy.N_WEIGHTINGS, len(self.n_squares)))
        total = sum(self.model(each).best_counts(n_trees) for each in weightings)
        return _in_proportion(total.tolist(), n_trees)


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """Estimated squared error of forests of several kinds of trees.

    Attributes
    ----------
    products : ndarray of shape (n_kinds, n_kinds)
        Mean product of the errors of two different trees of these kinds.
    spread : ndarray of shape (n_kinds,)
        By how much the mean squared error of one tree is larger than such a product.
    """

    products: np.ndarray
    spread: np.ndarray

    def error(self, counts):
        """Estimated error of the mean prediction of a forest.

        Parameters
        ----------
        counts : ndarray of int, shape (..., n_kinds)
            Number of trees of each kind.
        """
        squares = ((counts @ self.products) * counts).sum(axis=-1)
        return (squares + counts @ self.spread) / counts.sum(axis=-1) ** 2

    def best_counts(self, n_trees):
        """Numbers of trees of each kind with the least estimated error.

        Trees are exchanged one by one, from the best forest of one kind on, while this lowers the
        error.

        Parameters
        ----------
        n_trees : int

        Returns
        -------
        ndarray of int, shape (n_kinds,)
        """
        one = np.eye(len(self.spread), dtype=np.intp)
        exchanges = (one[:, None] - one).reshape(-1, len(one))
        best = min(n_trees * one, key=self.error)
        while True:
            others = best + exchanges
            others = others[(others >= 0).all(axis=1)]
            found = others[np.argmin(self.error(others))]
            if not self.error(found) < self.error(best):
                return best
            best = found


def errors_of(problem, trees):
    """Prediction minus target of trees for all samples: of probabilities, for classification.

    Parameters
    ----------
    problem : Problem
    trees : sequence of Tree
        For the encoded targets.

    Returns
    -------
    ndarray of shape (n_trees, n_samples, n_outputs)
    """
    samples = np.arange(problem.X.shape[0], dtype=np.int32)
    targets = problem.y
    if problem.loss.is_classifier:
        targets = np.eye(problem.n_outputs)[problem.y[:, 0].astype(np.intp)]
    found = np.empty((len(trees), *targets.shape))
    for t, tree in enumerate(trees):
        predictions = problem.predictions(tree, samples)
        found[t] = softmax(predictions, axis=1) if problem.loss.is_classifier else (
            problem.loss.decode(predictions))
        found[t] -= targets
    return found
