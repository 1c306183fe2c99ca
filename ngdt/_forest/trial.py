"""The numbers of trees of each candidate in a forest: those with the least error in a trial.

A few trees of each kind are trained without a third of the samples, the same for all kinds. The
squared error of a forest is a quadratic function of how many trees it has of each kind, with means
of products of errors of two trees as coefficients. On samples that were held out of both, they are
estimated without bias. The numbers of trees with the least estimate lean too much on the kinds that
had luck: they are means over weightings of the held-out samples by chance, the Bayesian bootstrap
of Rubin (1981). The trees of the forest itself may draw of all samples.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from ngdt._forest import policy
from ngdt._forest.candidates import predicts_means
from ngdt._forest.sampling import number_of_units
from ngdt._forest.training import Growth
from ngdt._selection.policy import MANY_SAMPLES
from ngdt._selection.sample import draw
from ngdt._training.folds import fold_samples


def compete(growth, kinds, sampling, seeds, previous):
    """Train the trees of a forest of the kinds with the least estimated error.

    There is a candidate for each kind, and a seed for each tree. Returns the table of the forest,
    with lists as columns. The shares in the table of a `previous` forest stay.
    """
    kinds, n_trees, present = {each.name: each for each in kinds}, len(seeds), Counter()
    if previous:
        errors, shares, present = _continued(previous, kinds)
    else:
        tried = _tried(growth, kinds, sampling, seeds)
        if tried is None:
            if not growth.interrupted:  # the rest of the time is for more trees of the first kind
                first = next(iter(kinds.values()))
                growth.add([(first, sampling, seed) for seed in seeds[len(growth.trees):]])
            return {}
        errors, shares = tried
    counts = _in_proportion(
        list(shares.values()), n_trees, [present[name] for name in shares])
    chosen = np.repeat([kinds.get(name) for name in shares], counts)
    # Kinds take turns: a forest that is cut has some of all.
    turns = np.argsort([(j + 0.5) / n for n in counts for j in range(n)], kind="stable")
    growth.add([(chosen[i], sampling, seeds[i]) for i in turns])
    present.update(tree.kind for tree in growth.trees)
    return {"candidate": list(shares), "error": [errors.get(name, np.nan) for name in shares],
            "share": list(shares.values()), "n_trees": [present[name] for name in shares]}


def _tried(growth, kinds, sampling, seeds):
    """Errors and shares of the kinds, by name; without a trial, the first kind has all trees.

    Where predictions are no means, kinds have equal shares. None if training has ended within the
    trial, whose trees are then those of the forest.
    """
    # One far target in a leaf would decide which kind has less error.
    problem, n_trees, loss = growth.problem.near, len(seeds), growth.problem.loss
    first_alone = {}, {next(iter(kinds)): 1.0}
    if n_trees < policy.MIN_TREES:
        return first_alone
    if not predicts_means(loss):        # squared errors do not judge them
        return {}, dict.fromkeys(kinds, 1 / len(kinds))
    drawn, _ = draw(problem, min(
        policy.MAX_TRIAL_SAMPLES, policy.MAX_TRIAL_VALUES // problem.X.shape[1]))
    folds = fold_samples(drawn)
    if not folds:       # samples are few, or drawn of one group only
        return first_alone
    trial, held_out = _train_some(growth, drawn, folds, kinds.values(), sampling, seeds)
    n_kinds = len(trial.trees) // len(held_out)     # of which all trees were trained
    if trial.interrupted or not n_kinds:
        growth.interrupted, growth.trees = trial.interrupted, trial.trees[:n_trees - 1]
        # Samples that a seed tells are not those that these trees have drawn.
        for tree in growth.trees:
            tree.attributes["random_state"] = None
        return None
    return _estimated(trial, held_out, list(kinds)[:n_kinds], n_trees, problem)


def _continued(table, kinds):
    """Error, share and number of trees of each kind, by name, for a forest that gets more trees."""
    errors, shares, present = (dict(zip(table["candidate"], table[column], strict=True))
                               for column in ("error", "share", "n_trees"))
    # The first kind takes the place of those that there are no more.
    first, gone = next(iter(kinds)), [name for name in shares if name not in kinds]
    shares[first] = sum((shares[name] for name in gone), shares.get(first, 0.0))
    return errors, shares | dict.fromkeys(gone, 0.0), Counter(present)


def _train_some(growth, problem, folds, kinds, sampling, seeds):
    """Train a few trees of each kind: their `Growth`, and the samples held out of each seed."""
    whole, n_trees = growth.problem, len(seeds)
    many = len(whole.training_samples) >= MANY_SAMPLES
    seeds = seeds[:policy.N_TRIAL_OF_MANY if many else policy.N_TRIAL]
    n_trial = len(kinds) * len(seeds)
    held_out = [folds[j % len(folds)] for j in range(len(seeds))]
    samplings = [_without(sampling, fold, problem, whole) for fold in held_out]
    control = problem.control.quiet().with_time(policy.TRIAL_TIME).part(
        n_trial / (n_trial + n_trees), "comparing kinds of trees")
    trial = Growth(
        problem.replace(control=control), growth.fitted, growth.tasks, growth.attributes)
    trial.add([(kind, *each) for kind in kinds for each in zip(samplings, seeds, strict=True)],
              "trial of kinds")
    return trial, held_out


def _without(sampling, fold, problem, whole):
    """The sampling that leaves out a fold, and draws the same share of the other samples."""
    n_drawn = sampling.n_drawn
    if n_drawn is not None:
        share = number_of_units(problem, fold) / number_of_units(whole)
        n_drawn = max(1, round(share * n_drawn))
    return replace(sampling, held_out=fold, n_drawn=n_drawn)


def _estimated(trial, held_out, names, n_trees, problem):
    """Errors of forests of each kind alone, and the shares of the kinds with the least, by name."""
    of_trial, n_each = trial.problem, len(held_out)
    outside = np.array([np.isin(np.arange(of_trial.X.shape[0]), fold) for fold in held_out])
    errors = errors_of(of_trial, [trial.fitted["_targets"].scale_leaf_values(
        tree.attributes["tree_"], of_trial.loss) for tree in trial.trees[:n_each * len(names)]])
    weightings = np.random.RandomState(problem.random_state).exponential(
        size=(policy.N_WEIGHTINGS, policy.N_PARTS))
    model, *others = error_models(
        errors.reshape(-1, n_each, *errors.shape[1:]), outside,
        of_trial.validation_weight if of_trial.own_validation else of_trial.sample_weight,
        np.vstack([np.ones(policy.N_PARTS), weightings]), of_trial.groups)
    counts = mean_best_counts(others, n_trees)
    alone = n_trees * np.eye(len(names), dtype=np.intp)
    errors = {name: float(model.error(one)) for name, one in zip(names, alone, strict=True)}
    if problem.control.verbose > 1:
        shown = "  ".join(f"{name} {errors[name]:.4g} ({n} trees)"
                          for name, n in zip(names, counts, strict=True))
        print(f"[forest] estimated squared error: {shown}")
    return errors, {name: n / n_trees for name, n in zip(names, counts, strict=True)}


def _in_proportion(shares, n_more, present=0):
    """Numbers of further trees of each kind, so that all numbers come close to shares."""
    counts = np.zeros(len(shares), np.intp) + present
    for _ in range(n_more):
        counts[np.argmax(shares / (counts + 1))] += 1
    return (counts - present).tolist()


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


def error_models(errors, outside, sample_weight, weightings, groups=None):
    """The `ErrorModel` of some trees of each kind, for each weighting of parts of the samples.

    Errors are of shape (n_kinds, n_trees, n_samples, n_outputs), weightings of shape (n_weightings,
    n_parts). The mask `outside`, shape (n_trees, n_samples), of samples that were held out of a
    tree is the same for the trees of all kinds. A group is in one part as a whole. Samples without
    weight are in none.
    """
    sums, n_parts, weighed = [], weightings.shape[1], np.flatnonzero(sample_weight)
    unit = np.arange(len(weighed)) if groups is None else np.unique(
        groups[weighed], return_inverse=True)[1]
    for part in range(n_parts):
        samples = weighed[unit % n_parts == part]
        held_out, weight = outside[:, samples], sample_weight[samples]
        factor = held_out[:, :, None] * np.sqrt(weight)[:, None]
        own = (errors[:, :, samples] * factor).reshape(*errors.shape[:2], -1)
        totals = own.sum(axis=1)
        own = own.reshape(len(errors), -1)
        squares = own @ own.T       # of trees with the same samples
        n_outside = held_out.sum(axis=0)
        sums.append((totals @ totals.T - squares, np.diag(squares),
                     (n_outside * (n_outside - 1)) @ weight, n_outside @ weight))
    products, squares, n_products, n_squares = map(np.array, zip(*sums, strict=True))
    models = []
    for each in weightings:
        mean = np.tensordot(each, products, 1) / (each @ n_products)
        models.append(ErrorModel(mean, each @ squares / (each @ n_squares) - np.diag(mean)))
    return models


def mean_best_counts(models, n_trees):
    """Numbers of trees of each kind: means of the best ones by each model."""
    return _in_proportion(sum(each.best_counts(n_trees) for each in models).tolist(), n_trees)


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
