"""The numbers of trees of each candidate in a forest: those with the least error in a trial.

A few trees of each kind are trained without a third of the samples, the same for all kinds. The
squared error of a forest is a quadratic function of how many trees it has of each kind, with means
of products of errors of two trees as coefficients. On samples that were held out of both, they are
estimated without bias. The numbers of trees with the least estimate lean too much on the kinds that
had luck: they are means over weightings of the held-out samples by chance, the Bayesian bootstrap
of Rubin (1981). The trees of the forest itself may draw of all samples.
"""

from dataclasses import dataclass, fields, replace
from itertools import chain

import numpy as np
from scipy.special import softmax

from ngdt._forest.training import Growth
from ngdt._selection import policy
from ngdt._selection.sample import draw
from ngdt._training.folds import fold_samples


@dataclass
class _Kind:
    """A row of the table of a forest."""

    candidate: str          # its name
    error: float = np.nan   # estimated, of a forest of this kind
    share: float = 0.0      # of the trees that is to be of this kind
    n_trees: int = 0        # that the forest has


def compete(growth, recipes, seeds, previous):
    """Train the trees of a forest of the kinds with the least estimated error.

    There is a recipe for the name of each kind, and a seed for each tree. Returns the table of the
    forest, with lists as columns. The shares in that of a `previous` forest stay.
    """
    problem, names, n_trees = growth.problem, list(recipes), len(seeds)
    if previous:
        kinds = _continued(previous, recipes)
    elif n_trees < policy.MIN_TREES or not _can_compare(problem):
        kinds = [_Kind(names[0], share=1.0)]
    else:
        trial, held_out = _train_some(growth, recipes, seeds)
        n = len(held_out)       # of the kinds of which all trees were trained
        of_kinds = [trial.trees[n * k:n * (k + 1)] for k in range(len(trial.trees) // n)]
        if trial.interrupted or not of_kinds:
            growth.interrupted, growth.trees = trial.interrupted, trial.trees[:n_trees - 1]
            # Samples that a seed tells are not those that these trees have drawn.
            for tree in growth.trees:
                tree.attributes["random_state"] = None
            return {}
        kinds = _best_kinds(names, _error_sums(trial, of_kinds, held_out), n_trees, problem)
    chosen = [recipes.get(kind.candidate) for kind in kinds]
    counts = _in_proportion(
        [kind.share for kind in kinds], n_trees, [kind.n_trees for kind in kinds])
    growth.add(_plan(chosen, counts, seeds))
    for kind, recipe in zip(kinds, chosen, strict=True):
        kind.n_trees += sum(tree.recipe is recipe for tree in growth.trees)
    return {each.name: [getattr(kind, each.name) for kind in kinds] for each in fields(_Kind)}


def _continued(table, recipes):
    """The kinds of a forest that gets more trees: the first for those without a recipe."""
    table = {"share": table["n_trees"]} | table     # an earlier version has saved no shares
    kinds = {row[0]: _Kind(*row) for row in zip(
        *(table[each.name] for each in fields(_Kind)), strict=True)}
    name = next(iter(recipes))
    first = kinds.setdefault(name, _Kind(name))
    for kind in kinds.values():
        if kind.candidate not in recipes:
            first.share += kind.share
            kind.share = 0.0
    return list(kinds.values())


def _best_kinds(names, sums, n_trees, problem):
    """The kinds of a forest, with the shares of each that have the least estimated error."""
    model = sums.model(np.ones(policy.N_PARTS))
    counts = sums.mean_best_counts(n_trees, np.random.RandomState(problem.random_state))
    alone = n_trees * np.eye(len(model.spread), dtype=np.intp)
    kinds = [_Kind(name, float(model.error(one)), n / n_trees) for name, one, n in zip(
        names, alone, counts, strict=False)]
    if problem.control.verbose > 1:
        shown = "  ".join(f"{kind.candidate} {kind.error:.4g} ({n} trees)"
                          for kind, n in zip(kinds, counts, strict=True))
        print(f"[forest] estimated squared error: {shown}")
    return kinds


def _can_compare(problem):
    """Return whether there are folds, and predictions are means, which the squared error judges."""
    loss = problem.loss
    return (loss.is_classifier or loss.is_squared or loss.has_log_link) and fold_samples(problem)


def _train_some(growth, recipes, seeds):
    """Train a few trees of each kind: their `Growth`, and the samples held out of each seed."""
    whole, n_trees = growth.problem, len(seeds)
    many = len(whole.training_samples) >= policy.MANY_SAMPLES
    seeds = seeds[:policy.N_TRIAL_OF_MANY if many else policy.N_TRIAL]
    problem = draw(whole, min(
        policy.MAX_TRIAL_SAMPLES, policy.MAX_TRIAL_VALUES // whole.X.shape[1]))
    folds, n_trial = fold_samples(problem), len(recipes) * len(seeds)
    held_out = [folds[j % len(folds)] for j in range(len(seeds))]
    control = problem.control.quiet().with_time(policy.TRIAL_TIME).part(
        n_trial / (n_trial + n_trees), "comparing kinds of trees")
    trial = Growth(
        problem.replace(control=control), growth.fitted, growth.tasks, growth.attributes)
    trial.add([
        (_without(recipe, fold, problem, whole), seed) for recipe in recipes.values()
        for fold, seed in zip(held_out, seeds, strict=True)], "trial of kinds")
    return trial, held_out


def _error_sums(trial, of_kinds, held_out):
    problem, weight = trial.problem, trial.problem.sample_weight
    outside = np.zeros((len(held_out), len(weight)), dtype=bool)
    for each, fold in zip(outside, held_out, strict=True):
        each[fold] = True
    errors = [errors_of(problem, [trial.fitted["_targets"].scale_leaf_values(
        tree.attributes["tree_"], problem.loss) for tree in trees]) for trees in of_kinds]
    return ErrorSums.of(errors, outside, weight, policy.N_PARTS)


def _without(recipe, fold, problem, whole):
    """The recipe for trees that draw none of a fold, and of the others the same share of all."""
    n_drawn = recipe.sampling.n_drawn
    if n_drawn is not None:
        share = (len(problem.training_samples) - len(fold)) / len(whole.training_samples)
        n_drawn = max(1, round(share * n_drawn))
    return replace(recipe, sampling=replace(recipe.sampling, held_out=fold, n_drawn=n_drawn))


def _plan(recipes, counts, seeds):
    """Recipe and seed of each tree. Kinds take turns: a forest that is cut has some of all."""
    chosen = chain.from_iterable([each] * n for each, n in zip(recipes, counts, strict=True))
    plan = list(zip(chosen, seeds, strict=False))
    turns = [(j + 0.5) / n for n in counts for j in range(n)]
    return [plan[i] for i in np.argsort(turns, kind="stable")]


def _in_proportion(shares, n_more, present=None):
    """Numbers of further trees of each kind, so that all numbers come close to shares."""
    present = np.zeros(len(shares), np.intp) if present is None else np.array(present)
    counts = present.copy()
    for _ in range(n_more):
        counts[np.argmax(shares / (counts + 1))] += 1
    return (counts - present).tolist()


@dataclass(frozen=True, eq=False)
class ErrorSums:
    """Sums that tell the error of forests, over each of several parts of the samples."""

    products: np.ndarray    # of errors of two different trees, shape (n_parts, n_kinds, n_kinds)
    squares: np.ndarray     # of errors of a tree, shape (n_parts, n_kinds)
    n_products: np.ndarray  # total weights of these sums, shape (n_parts,)
    n_squares: np.ndarray

    @classmethod
    def of(cls, errors, outside, sample_weight, n_parts=1):
        """Sum the errors of some trees of each kind, shape (n_trees, n_samples, n_outputs).

        The mask `outside`, shape (n_trees, n_samples), of samples that were held out of a tree is
        the same for the trees of all kinds.
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
        """Numbers of trees of each kind: means of the best ones for parts of random weights."""
        weightings = random.exponential(size=(policy.N_WEIGHTINGS, len(self.n_squares)))
        total = sum(self.model(each).best_counts(n_trees) for each in weightings)
        return _in_proportion(total.tolist(), n_trees)


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """Estimated squared error of forests, by the number of their trees of each kind."""

    products: np.ndarray    # mean, of errors of two different trees, shape (n_kinds, n_kinds)
    spread: np.ndarray      # by how much the mean square of one tree is larger, shape (n_kinds,)

    def error(self, counts):
        """Estimated error of the mean prediction of forests, counts of shape (..., n_kinds)."""
        squares = ((counts @ self.products) * counts).sum(axis=-1)
        return (squares + counts @ self.spread) / counts.sum(axis=-1) ** 2

    def best_counts(self, n_trees):
        """Numbers of trees of each kind: exchanged one by one while this lowers the error."""
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
    """Prediction, or probability, minus target, shape (n_trees, n_samples, n_outputs)."""
    samples, is_class = np.arange(problem.X.shape[0], dtype=np.int32), problem.loss.is_classifier
    targets = np.eye(problem.n_outputs)[problem.y[:, 0].astype(np.intp)] if is_class else problem.y
    found = np.empty((len(trees), *targets.shape))
    for each, tree in zip(found, trees, strict=True):
        predictions = problem.predictions(tree, samples)
        each[:] = softmax(predictions, axis=1) if is_class else problem.loss.decode(predictions)
        each -= targets
    return found
