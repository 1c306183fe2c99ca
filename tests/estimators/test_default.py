"""The default: candidates, when they are dropped, and which one is trained on all samples."""

from itertools import count
from runpy import run_path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from helpers import in_nightly, make_problem
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._estimators import base
from ngdt._selection import default as _default
from ngdt._selection import policy
from ngdt._selection.candidates import CONSTANT, Leaves, default_candidates
from ngdt._selection.default import best_tree
from ngdt._selection.sample import most_to_compare_on
from ngdt._selection.train import Candidate
from ngdt._training import folds as _folds
from ngdt._training.choice import Choice
from ngdt._training.control import Control, Deadline
from ngdt._training.folds import Score
from ngdt._training.problem import Problem
from ngdt._util.stopped import Stopped
from ngdt.initializers import Pruned, RandomComplete
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import Annealed, CutLeaves, LinearLeaves, Optimizer, OptimizerResult


class Step(Optimizer):
    """Makes a stump that is wrong for a given share of the samples, and keeps its problems."""

    metrics = ("loss",)

    def __init__(self, wrong):
        self.wrong, self.seen = wrong, []

    def _optimize(self, tree, problem):
        self.seen.append((tree, problem))
        if self.wrong == "interrupt":
            raise KeyboardInterrupt
        stump = Tree([[1.0]], [self.wrong], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
        return OptimizerResult(stump, {"loss": [0.5]})


class Given(Optimizer):
    """Puts a given tree in the place of any tree."""

    def __init__(self, tree):
        self.tree = tree

    def _optimize(self, tree, problem):
        return OptimizerResult(self.tree)


class Late(Step):
    """Takes all the time that there is."""

    def _optimize(self, tree, problem):
        problem.control.deadline.stop()
        return super()._optimize(tree, problem)


def problem(n, **fields):
    """All samples are of class 1, x runs evenly from 0 to 1; a stump is wrong below its threshold.

    The pruned tree is a single leaf that is always right. Of this loss, leaves are not shrunk: this
    would make the same of all.
    """
    random = np.random.default_rng(0)
    X = random.permutation((np.arange(n) + 0.5) / n)[:, None]
    return Problem(X, np.ones((n, 1)), LogLoss(pseudo_count=0.5), 2, np.ones(n), **fields)


@pytest.fixture
def no_leaf(monkeypatch):
    """The single leaf, which is always right, does not win."""
    monkeypatch.setattr(policy, "MIN_LEAF_LEAD", -np.inf)
    monkeypatch.setattr(policy, "TELLING_LEAD", -np.inf)


@pytest.fixture
def compete(no_leaf):
    """Let stubs compete: their shares of wrong samples, in order."""
    def run(problem, *wrong, fraction="auto", final=None):
        steps = [Step(share) for share in wrong]
        finals = [Step(share) for share in wrong]
        candidates = [Candidate(str(step.wrong), "initial", (step,), (last,))
                      for step, last in zip(steps, finals, strict=True)]
        return best_tree(problem, candidates, fraction), steps, finals
    return run


@pytest.mark.parametrize("wrong", [(0.3, 0.1, 0.6), (0.1, 0.3, 0.6), (0.6, 0.3, 0.1)])
def test_the_least_error_wins_and_is_trained_on_all_samples(compete, wrong):
    result, steps, finals = compete(problem(300), *wrong)
    best = int(np.argmin(wrong))
    assert result.candidates["chosen"] == [k == best for k in range(4)]
    assert [len(last.seen) for last in finals] == [int(k == best) for k in range(3)]
    (_, trained), = finals[best].seen
    assert len(trained.training_samples) == 300
    assert result.tree.thresholds[0] == 0.1
    assert not result.baseline_kept
    assert result.history == {"optimizer": ["Step"], "loss": [0.5]}
    for _, fold in steps[best].seen:
        assert len(fold.training_samples) == 200
        assert fold.control.verbose == 0
        assert fold.control.callback is None


def test_of_equal_candidates_the_first_wins(compete):
    assert compete(problem(300), 0.2, 0.2)[0].candidates["chosen"] == [True, False, False]


class Leaf(Optimizer):
    """Puts a single leaf in the place of any tree, with slopes of zero as of a lost linear leaf."""

    def _optimize(self, tree, problem):
        q = tree.n_outputs
        return OptimizerResult(
            Tree(np.empty((0, 1)), [], [], [], np.zeros((1, q)), slopes=np.zeros((1, q, 1))))


@pytest.fixture
def noisy_stump():
    given = problem(300)
    x = given.X[:, 0]
    return given.replace(y=1.0 * ((x > 0.5) ^ (x % 0.05 < 0.02))[:, None], loss=LogLoss())


@pytest.mark.parametrize(("loss", "q"), [(LogLoss(), 2), (SquaredLoss(), 1)])
def test_a_winner_that_loses_its_splits_in_the_end_says_so(no_leaf, noisy_stump, loss, q):
    given, candidate = noisy_stump.replace(loss=loss, n_outputs=q), Candidate(
        "stump", "initial", final=(Leaf(),))
    with pytest.warns(UserWarning, match="'stump' won on held-out samples, but .* the same for"):
        assert best_tree(given, [candidate]).tree.n_leaves == 1


@pytest.mark.filterwarnings("error")
def test_a_winner_that_loses_its_splits_in_the_end_gives_way(no_leaf, noisy_stump):
    result = best_tree(noisy_stump, [
        Candidate("lost", "initial", (Step(0.5),), (Leaf(),)),
        Candidate("stump", "initial", (Step(0.45),))])
    assert result.tree.n_leaves == 2
    assert result.candidates["chosen"] == [False, True, False]
    assert result.candidates["failed"] == [True, False, False]


@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize(("ahead", "wins"), [(-3, False), (1, False), (2, False), (3, True)])
def test_the_first_one_wins_unless_another_is_clearly_better(compete, n, ahead, wins):
    given = problem(n)
    x = np.sort(given.X[np.concatenate(_folds.fold_samples(given)), 0])
    # In standard errors, the lead is the square root of the number of samples that it consists of.
    few, more = (np.mean(x[k:k + 2]) for k in (40, 40 + ahead))
    table = compete(given, more, few)[0].candidates
    assert table["chosen"] == [not wins, wins, False]
    is_last = n == 3000 or ahead > 0
    assert table["lead"][1] == pytest.approx(np.sign(ahead) * np.sqrt(abs(ahead))) or not is_last


def test_probabilities_decide_where_errors_are_equal(no_leaf):
    """The same splits, one of them with probabilities that are all the same but for who wins."""
    class Sure(Step):
        def _optimize(self, tree, problem):
            return OptimizerResult(super()._optimize(tree, problem).tree.replace(
                values=[[5.0, 0.0], [0.0, 5.0]]), {"loss": [0.5]})

    table = best_tree(problem(300), [
        Candidate("unsure", "initial", (Step(0.05),)),
        Candidate("sure", "initial", (Sure(0.05),))]).candidates
    assert table["chosen"] == [False, True, False]


def choice_of(**n_wrong):
    """Choice between candidates with squared errors of so many samples, and errors of the others.

    A lead of so many samples is the square root of them, in standard errors. Log losses of samples
    from 200 on are tenfold.
    """
    fold = SimpleNamespace(
        problem=SimpleNamespace(loss=LogLoss()), weight=np.ones(400), sums=lambda values: values)
    choice = Choice([Candidate(name, None) for name in n_wrong], 2 * [fold], Deadline())
    for each in choice.candidates:
        square = np.isin(np.arange(400), n_wrong[each.name]).astype(float)
        choice.scores[each].append(
            Score(1.0 - square, square, np.where(np.arange(400) < 200, 1.0, 10.0) * square))
    return choice


def winner_of(**n_wrong):
    return choice_of(**{name: range(n) for name, n in n_wrong.items()}).ranked()[0].name


def test_of_several_that_are_clearly_better_the_least_squared_error_wins():
    assert winner_of(first=30, second=10, third=9, pruned=30) == "third"
    assert winner_of(first=30, second=10, third=10, pruned=30) == "second"
    assert winner_of(first=11, second=10, third=10, pruned=30) == "first"


@pytest.mark.parametrize(("fewer", "winner"), [(0, "second"), (2, "second"), (3, "pruned")])
def test_the_pruned_tree_has_to_be_clearly_better_than_the_best_of_the_others(fewer, winner):
    assert winner_of(first=30, second=10, pruned=10 - fewer) == winner
    assert winner_of(first=30, pruned=10 - fewer, second=10) == winner
    # One that is not clearly better than the first one does not hold a place.
    assert winner_of(first=11, second=10, pruned=10 - fewer) == ("pruned" if fewer else "first")


def test_one_more_fold_does_not_decide_between_winners():
    """Ctrl-C came in the second fold, after the second candidate."""
    choice = choice_of(first=range(30), second=range(10), third=range(2), pruned=range(30))
    for each in choice.candidates[:2]:
        choice.scores[each] *= 2
    assert choice.ranked()[0].name == "third"


@pytest.mark.parametrize(("names", "winner"), [
    ("better one", "better"), ("one better", "better"), ("two better", "better"),
    ("one pruned", "one"), ("two pruned", "pruned")])     # which has to be better by more
def test_log_losses_decide_where_squared_errors_do_not_tell(names, winner):
    """One and two samples have ten times the log loss of the others."""
    choice = choice_of(better=range(20), one=[*range(17), 200], two=[*range(17), 200, 201],
                       pruned=range(20))
    by_name = {each.name: each for each in choice.candidates}
    ranked = _default._Race._by_log_loss(
        SimpleNamespace(choice=choice), [by_name[name] for name in names.split()])
    assert ranked[0].name == winner


def test_log_losses_count_for_nothing_where_squared_errors_are_larger():
    """One sample, as with a gross error, has a larger log loss than nine others."""
    choice = choice_of(one=[200], nine=range(9))
    assert choice.values(choice.first, "log_loss").sum() == 10.0
    ranked = _default._Race._by_log_loss(SimpleNamespace(choice=choice), choice.candidates)
    assert ranked[0].name == "one"


def test_candidates_that_are_no_better_leave_the_race(compete):
    result, steps, _ = compete(problem(300), 0.11, 0.10, 0.5)
    assert result.candidates["n_folds"] == [3, 3, 1, 3]
    assert [len(step.seen) for step in steps] == [3, 3, 1]
    # As soon as only the first one is left, or another leads by far, the race is over.
    assert compete(problem(300), 0.1, 0.5)[0].candidates["n_folds"] == [1, 1, 1]
    assert compete(problem(300), 0.6, 0.1)[0].candidates["n_folds"] == [1, 1, 1]


def test_a_fold_that_there_is_no_time_for_is_left_out(compete, monkeypatch):
    clock = count(step=100.0)
    monkeypatch.setattr("ngdt._training.choice.monotonic", lambda: next(clock))
    _, steps, _ = compete(problem(300, control=Control(Deadline.after(60.0))), 0.11, 0.10)
    assert [len(step.seen) for step in steps] == [1, 1]


def test_without_time_only_the_first_candidate_is_tested(no_leaf):
    second = Step(0.05)
    result = best_tree(problem(300, control=Control(Deadline.after(60.0))), [
        Candidate("late", "initial", (Late(0.1),)), Candidate("second", "initial", (second,))])
    assert result.candidates["n_folds"][:2] == [1, 0]
    assert not second.seen


def test_candidates_share_the_time_that_is_left(compete):
    given = problem(300, control=Control(Deadline.after(60.0)))
    _, steps, _ = compete(given, 0.11, 0.10)
    first, second = (step.seen[0][1].control.deadline.left for step in steps)
    most = policy.FOLDS_TIME * 60.0
    assert 0.4 * most < first < 0.5 * most < 0.9 * most < second < most


class Fixed(Optimizer):
    """Returns the given trees, the last of them again and again."""

    def __init__(self, trees):
        self.trees = trees

    def _optimize(self, tree, problem):
        return OptimizerResult(self.trees.pop(0) if len(self.trees) > 1 else self.trees[0])


def test_a_single_leaf_and_a_tree_with_splits_are_compared_on_all_folds(no_leaf):
    given = problem(300)
    given = make_problem(given.X, given.X[:, 0], "squared_error")
    split = Tree([[1.0]], [0.5], [~0], [~1], [[9.0], [9.0]])
    line = Tree(np.empty((0, 1)), [], [], [], [[0.0]], slopes=[[[1.0]]])
    # On the first fold, the line is so far ahead that the race is over.
    result = best_tree(given, [Candidate(name, "initial", (Fixed([tree]),)) for name, tree in (
        ("split", split), ("line", line))], leaves=Leaves("auto"))
    assert result.candidates["n_folds"][:2] == [3, 3]
    assert result.tree == line


def test_a_winner_without_splits_on_the_first_fold_only_is_a_tree_with_splits(no_leaf):
    given = problem(300)
    given = make_problem(given.X, given.X[:, 0], "squared_error")
    leaf = Tree(np.empty((0, 1)), [], [], [], [[0.5]])
    split = Tree([[1.0]], [0.5], [~0], [~1], [[0.5], [0.5]])
    result = best_tree(given, [Candidate(name, "initial", (Fixed(trees),)) for name, trees in (
        ("first", [leaf, split]), ("split", [split]))], leaves=Leaves("auto"))
    assert result.candidates["n_folds"][:2] == [3, 3]
    assert result.candidates["chosen"][:2] == [True, False]


def test_one_that_is_far_ahead_of_the_first_has_won(compete):
    result, steps, _ = compete(problem(900), 0.9, 0.05, 0.043, 0.06)
    assert result.candidates["chosen"][:4] == [False, False, True, False]
    assert [len(step.seen) for step in steps] == [1, 1, 1, 1]


def test_errors_are_means_with_standard_errors(compete):
    weight = np.random.default_rng(0).choice([0.0, 1.0, 3.0], 300)
    given = problem(300).replace(sample_weight=weight)
    table = compete(given, 0.11, 0.10)[0].candidates
    wrong = (given.X[:, 0] <= 0.11) * weight
    assert table["candidate"] == ["0.11", "0.1", "single leaf"]
    assert table["n_leaves"] == [2.0, 2.0, 1.0]
    assert table["error"][0] == pytest.approx(wrong.sum() / weight.sum())
    deviation = wrong - weight * wrong.sum() / weight.sum()
    assert table["standard_error"][0] == pytest.approx(
        np.sqrt((deviation**2).sum()) / weight.sum())


@pytest.mark.parametrize(("n", "fraction", "n_test"), [
    (1999, "auto", [666, 666, 667]), (2000, "auto", [667]), (300, 0.2, [60]), (3000, 0.5, [1500])])
def test_folds_or_samples_that_are_held_out(compete, n, fraction, n_test):
    _, steps, _ = compete(problem(n), 0.101, 0.10, fraction=fraction)
    assert sorted(n - len(fold.training_samples) for _, fold in steps[0].seen) == n_test


@pytest.mark.parametrize(("n", "fraction"), [(300, None), (300, 0), (5, "auto")])
def test_without_a_comparison_the_first_candidate_is_trained(compete, n, fraction):
    result, steps, finals = compete(problem(n), 0.1, 0.5, fraction=fraction)
    assert not steps[0].seen
    assert not steps[1].seen
    assert len(finals[0].seen) == 1
    assert np.isnan(result.candidates["error"]).all()


def test_a_race_of_large_data_has_some_of_the_samples(compete, monkeypatch):
    monkeypatch.setattr(policy, "MIN_DRAWN_SAMPLES", 600)
    monkeypatch.setattr(policy, "MAX_DRAWN_VALUES", 600)
    result, steps, finals = compete(problem(1200), 0.4, 0.1)
    assert steps[0].seen[0][1].X.shape == (600, 1)
    assert finals[1].seen[0][1].X.shape == (1200, 1)
    assert result.tree.thresholds[0] == 0.1


def test_ctrl_c_in_the_last_training_leaves_a_tree_of_the_winner(no_leaf, monkeypatch):
    """Whatever made it win: log losses may, in place of squared errors."""
    candidates = [Candidate("first", "initial", (Step(0.1),)),
                  Candidate("winner", "initial", (Step(0.3),), (Step("interrupt"),))]
    monkeypatch.setattr(_default._Race, "_ranked", lambda self: candidates[::-1])
    with pytest.raises(Stopped) as caught:
        best_tree(problem(300), candidates)
    assert caught.value.candidates["chosen"] == [False, True]


def test_ctrl_c_in_the_race_leaves_the_best_tree_of_the_folds(compete):
    with pytest.raises(Stopped) as caught:
        compete(problem(300), 0.3, 0.1, "interrupt")
    assert caught.value.tree.thresholds[0] == 0.1
    assert caught.value.candidates["chosen"] == [False, True, False]
    assert caught.value.candidates["n_folds"] == [1, 1, 0]


def test_ctrl_c_before_a_candidate_leaves_the_pruned_tree_of_a_fold(compete):
    with pytest.raises(Stopped) as caught:
        compete(problem(300), "interrupt", 0.1)
    assert caught.value.baseline_kept
    assert caught.value.tree.n_leaves == 1


def test_ctrl_c_in_the_last_training_leaves_its_tree():
    X, y = load_wine(return_X_y=True)

    def stop(metrics):
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fitted = ObliqueTreeClassifier(
            2, leaf="constant", callback=stop, random_state=0).fit(X, y)
    assert fitted.score(X, y) > 0.8


# --- what competes --------------------------------------------------------------------------------


def names(problem, *leaves):
    return [candidate.name for candidate in default_candidates(problem, *leaves)]


def table(n, p=3, loss="log_loss", n_classes=2, form=np.asarray, **fields):
    return make_problem(form(np.zeros((n, p))), np.arange(n) % n_classes, loss, **fields)


REGRESSION, SHRUNK = ["tao C=10", "tao C=0.1"], "pruned, shrunk"
SOFT = ["annealed depth=3, tao", "annealed depth=4, tao"]
TAO, WIDE, PRUNED = "tao C=1", "tao C=0.1", "pruned"
BANDS, SPARSE = "score bands", "score bands, sparse"
BINARY = [TAO, BANDS]
LARGE = ["annealed depth=2", "annealed depth=8"]
MIXED = [f"{each}, mixed" for each in LARGE]


@pytest.mark.parametrize(("given", "expected"), [
    (table(100, max_depth=8), [*BINARY, "annealed depth=2", "annealed depth=6", PRUNED]),
    (table(100), [*BINARY, "annealed depth=2", "annealed depth=6", PRUNED]),
    (table(100, max_depth=3), [*BINARY, "annealed depth=2", "annealed depth=3", PRUNED]),
    (table(100, max_depth=2), [*BINARY, "annealed depth=2", PRUNED]),
    (table(45), [*BINARY, "annealed depth=2", "annealed depth=6", PRUNED]),
    (table(44), [TAO, BANDS, SPARSE, "annealed depth=2", "annealed depth=6", PRUNED]),
    (table(44, n_classes=3), [TAO, "annealed depth=2", "annealed depth=6", PRUNED]),
    (table(2000, p=100), [*BINARY, *MIXED, PRUNED]),
    (table(2000, p=101), [TAO, SPARSE, *MIXED, PRUNED]),
    (table(2000, p=134), [TAO, BANDS, SPARSE, *MIXED, PRUNED]),
    (table(2000, p=500), [TAO, BANDS, SPARSE, *MIXED, PRUNED]),
    (table(2000, p=501), [TAO, SPARSE, *MIXED, PRUNED]),
    (table(100, n_classes=10), [TAO, "annealed depth=4", "annealed depth=6", PRUNED]),
    (table(1999, n_classes=32), [TAO, "annealed depth=5", "annealed depth=8", PRUNED]),
    (table(2000, n_classes=32), [TAO, "annealed depth=5", "annealed depth=10", PRUNED]),
    (table(100_001), [*BINARY, "annealed depth=8", PRUNED]),    # some of which are compared on
    (table(4001, p=4096), [WIDE, SPARSE, *MIXED, PRUNED]),
    (table(4001, p=4097), ["annealed depth=2", WIDE, SPARSE, PRUNED]),
    (table(45, p=44, n_classes=3), [TAO, "annealed depth=2", "annealed depth=6", PRUNED]),
    (table(45, p=45, n_classes=3), [WIDE, "annealed depth=2", "annealed depth=6", PRUNED]),
    (table(44, p=4097, directions=np.ones(4097)), [WIDE, SPARSE, PRUNED]),
    (table(100, p=4097), ["annealed depth=2", WIDE, SPARSE, PRUNED]),
    (table(2000, p=512, form=sparse.csr_array), ["annealed depth=2", TAO, SPARSE, PRUNED]),
    (table(2000, p=511, form=sparse.csr_array), [TAO, SPARSE, *LARGE, PRUNED]),
    (table(2000, p=512, form=lambda X: sparse.csr_array(X + 1)), [TAO, SPARSE, *LARGE, PRUNED]),
    (table(2000, p=4000, n_classes=20, form=sparse.csr_array),
     ["annealed depth=6", WIDE, PRUNED]),
    (table(100, loss="squared_error"), [*REGRESSION, SHRUNK, "pruned"]),
    (table(2000, loss="squared_error"), [*REGRESSION, *SOFT, SHRUNK, "pruned"]),
    (table(2000, loss="squared_error", max_depth=3), [*REGRESSION, SOFT[0], SHRUNK, "pruned"]),
    (table(100, p=4097, loss="squared_error"), [WIDE, SHRUNK, "pruned"]),
    (table(2000, p=4097, loss="squared_error"), [WIDE, SHRUNK, "pruned"]),
    (table(2000, loss="absolute_error"), [*REGRESSION, *SOFT, SHRUNK, "pruned"]),
])
def test_candidates(given, expected):
    assert names(given) == expected


GREEDY = "tao C=10"


@pytest.mark.parametrize(("n", "directions", "expected"), [
    (100, [1, 1, -1], [GREEDY]),
    (100, [1, 0, -1], [GREEDY, "annealed depth=6, tao, 2 free levels"]),
    (2000, [1, 1, -1], ["annealed depth=8, tao, 0 free levels", GREEDY]),
    (2000, [1, 0, -1], ["annealed depth=8, tao, 3 free levels", GREEDY])])
def test_candidates_that_have_to_be_monotone(n, directions, expected, monkeypatch):
    given = make_problem(np.arange(3.0 * n).reshape(n, 3), np.arange(n), "squared_error",
                         directions=np.array(directions))
    for most, found in ((3, expected), (2, [GREEDY])):
        monkeypatch.setattr("ngdt._selection.candidates.MAX_SOFT_FEATURES", most)
        assert names(given) == [*found, PRUNED]


LOGISTIC = ["linear model", "model tree"]
LINEAR = ["model tree, tao", "model tree", "annealed depth=3, linear, tao"]


@pytest.mark.parametrize(("given", "leaf", "expected"), [
    (table(100, loss="squared_error"), "auto", [*LINEAR, "pruned"]),
    (table(100, loss="squared_error"), "linear", LINEAR),
    (table(2000, loss="squared_error"), "auto", [*LINEAR, "pruned"]),
    (table(2000, loss="squared_error"), "linear", LINEAR),
    (table(100, p=501, loss="squared_error"), "linear", ["linear", "model tree"]),
    (table(100, p=501, loss="squared_error"), "auto",
     [WIDE, SHRUNK, "pruned", "linear", "model tree"]),
    (table(4001, p=501, loss="squared_error"), "linear", ["linear"]),
    (table(9000, p=334, loss="squared_error"), "linear", ["linear"]),     # 1e9 products
    (table(8000, p=353, loss="squared_error"), "linear", LINEAR),
    (table(100, loss="huber"), "auto", [*LINEAR, "pruned"]),
    (table(100, loss="quantile"), "linear", LINEAR),
    (table(100, loss="poisson"), "auto", [*REGRESSION, SHRUNK, "pruned"]),
    (table(100), "auto", [*LOGISTIC, *BINARY, "annealed depth=2", "annealed depth=6", PRUNED]),
    (table(100), "linear", [*LOGISTIC, "linear, tao C=1"]),
    (table(2000, p=150), "auto", [LOGISTIC[0], *names(table(2000, p=150))]),
    (table(2000, p=150), "linear", [LOGISTIC[0], "linear"]),
    (table(100, p=501), "linear", ["linear"]),
    (table(100, p=501), "auto", names(table(100, p=501))),
    (table(500, p=50, n_classes=20), "auto", names(table(500, p=50, n_classes=20))),
    (table(100, loss="bounded"), "auto", names(table(100, loss="bounded"))),
])
def test_candidates_with_linear_leaves(given, leaf, expected):
    assert names(given, Leaves(leaf)) == expected


OF_SOME = ["linear, tao C=10", "linear, tao C=0.1", *LINEAR[1:]]


@pytest.mark.parametrize(("features", "expected"), [
    ([0, 2], OF_SOME), ("path", LINEAR), ("all", LINEAR)], ids=str)
def test_candidates_with_linear_leaves_of_some_features(features, expected):
    given = default_candidates(
        table(100, loss="squared_error"), Leaves("linear", LinearLeaves(features=features)))
    assert [each.name for each in given] == expected
    last = [getattr(each.optimizers[-1], "features", None) for each in given[::len(given) - 1]]
    assert last == [features] * 2


@pytest.mark.parametrize("max_depth", [0, "auto"])
def test_leaves_use_the_given_features_only(max_depth):
    X, y = (part[:100] for part in load_diabetes(return_X_y=True, as_frame=True))
    leaf = LinearLeaves(features=["bmi", "bp"])
    fitted = ObliqueTreeRegressor(max_depth=max_depth, leaf=leaf, random_state=0).fit(X, y)
    used = fitted.tree_.slopes.any(axis=(0, 1))
    assert set(X.columns[used]) == {"bmi", "bp"}


@pytest.mark.parametrize("name", ["model tree, tao", "model tree"])
def test_leaves_are_clipped_only_if_they_are_to_be(name, monkeypatch):
    X, y = (part[:100] for part in load_diabetes(return_X_y=True))
    monkeypatch.setattr(base, "default_candidates", lambda *args: [
        each for each in default_candidates(*args) if each.name == name])
    fitted = ObliqueTreeRegressor(leaf=LinearLeaves(clip=False), random_state=0).fit(X, y)
    assert fitted.tree_.slopes is not None
    assert fitted.tree_.ranges is None


def test_linear_leaves_are_refused_by_name_where_they_cannot_be_fitted():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="linear leaves minimise the squared, absolute"):
        ObliqueTreeRegressor(leaf="linear", loss="poisson").fit(X, y)
    with pytest.raises(ValueError, match="with monotonic_cst, linear leaves minimise the squared"):
        ObliqueTreeRegressor(leaf="linear", loss="huber", monotonic_cst=[1] * 10).fit(X, y)


def test_linear_leaves_win_where_targets_are_linear():
    X, y = (part[:100] for part in load_diabetes(return_X_y=True))
    fitted = ObliqueTreeRegressor(random_state=0).fit(X, X @ np.arange(10.0))
    assert fitted.tree_.slopes is not None
    assert not fitted.baseline_kept_
    assert fitted.score(X, X @ np.arange(10.0)) > 0.999
    assert ObliqueTreeRegressor(leaf="constant", random_state=0).fit(X, y).tree_.slopes is None
    assert ObliqueTreeRegressor(leaf="linear", random_state=0).fit(X, y).tree_.slopes is not None


@pytest.mark.parametrize(("lead", "n_leaves"), [(-np.inf, 1), (np.inf, 2)])
def test_a_linear_model_has_to_be_better_than_a_tree_with_splits(monkeypatch, lead, n_leaves):
    X, y = (part[:200] for part in load_diabetes(return_X_y=True))
    monkeypatch.setattr(policy, "MIN_LINEAR_LEAD", lead)
    fitted = ObliqueTreeRegressor(random_state=0).fit(X, y)
    assert min(fitted.get_n_leaves(), 2) == n_leaves


def test_logistic_leaves_win_where_logits_are_linear():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200, :10], y[:200]
    z = ((X - X.mean(0)) / X.std(0)) @ np.cos(np.arange(10.0)) > 0
    fitted = ObliqueTreeClassifier(leaf="auto", random_state=0).fit(X, z)
    assert fitted.tree_.slopes is not None
    assert not fitted.baseline_kept_
    assert fitted.score(X, z) > 0.98
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))
    for leaf, is_linear in (("constant", False), ("linear", True)):
        fitted = ObliqueTreeClassifier(leaf=leaf, random_state=0).fit(X, y)
        assert (fitted.tree_.slopes is not None) == is_linear


def test_the_penalty_that_is_given():
    given = default_candidates(table(100), Leaves("linear", LinearLeaves(penalty=5.0)))
    assert [each.name for each in given] == ["linear model", "model tree", "linear, tao C=1"]
    assert [each.optimizers[-1].penalty for each in given[::2]] == [5.0, 5.0]


def test_linear_leaves_of_classes_that_are_not_shrunk():
    given = default_candidates(table(100), Leaves("linear", LinearLeaves(shrink=False)))
    assert [each.optimizers[-1].shrink for each in given] == [False] * 3


@pytest.mark.parametrize(("given", "is_mixed"), [
    (table(2000, p=64), True), (table(2000, p=63), False), (table(1999, p=64), False),
    (table(20_000, p=64), False), (table(2000, p=64, form=sparse.csr_array), False),
    (make_problem(np.arange(2000.0)[:, None] * np.arange(1, 65), np.arange(2000) % 2,
                  standardize=True), False)])
def test_soft_trees_are_shown_mixed_samples_of_some_thousand_images(given, is_mixed):
    soft = default_candidates(given)[-2]  # before the pruned tree
    assert (soft.name == "annealed depth=8, mixed") == is_mixed
    for optimizers in (soft.optimizers, soft.final or soft.optimizers):
        assert (optimizers[0].mixing > 0) == is_mixed


@pytest.mark.parametrize(("p", "most"), [(1, 100_000), (400, 30_000), (4000, 15_000)])
def test_the_more_features_the_fewer_samples_are_compared_on(p, most):
    assert most_to_compare_on(table(4, p=p)) == most


def test_few_samples_get_few_steps(monkeypatch):
    # The number that is in the file: all other tests take fewer.
    monkeypatch.setattr(policy, "FEW_STEPS", run_path(policy.__file__)["FEW_STEPS"])
    for n, steps, expected in ((1999, 500, None), (2000, 1000, (Annealed(), CutLeaves()))):
        annealed = default_candidates(table(n))[-2]
        assert str(annealed.optimizers) == str((Annealed(steps=steps), CutLeaves()))
        assert str(annealed.final) == str(expected)


@pytest.mark.parametrize("weight", [1.0, 0.01])
def test_leaves_of_trained_trees_are_cut_by_gains_in_the_unit_of_weights(weight):
    given = table(2000).replace(sample_weight=np.full(2000, weight))
    trained = [each for each in default_candidates(given) if each.optimizers]
    assert [each.name for each in trained] == [TAO, *LARGE]
    for each in trained:
        for optimizers in (each.optimizers, each.final):
            assert optimizers[-1].min_gain == pytest.approx(weight * CutLeaves().min_gain)


def test_trained_trees_start_from_a_tree_of_depth_8_and_the_pruned_tree_has_no_such_limit():
    X = np.arange(600.0)[:, None]
    y = (np.arange(600) + np.arange(600) // 7) % 2      # a tree has to cut off sample by sample
    given = make_problem(X, y, max_depth=None)
    greedy = _default._GreedyTrees(given, None, None)
    assert greedy.pruned.tree.max_depth > 8
    assert greedy.initial.tree.max_depth == 8
    shallow = _default._GreedyTrees(make_problem(X, y, max_depth=5), None, None)
    assert shallow.pruned._whole is shallow.initial._whole


@pytest.mark.parametrize(("n", "n_folds"), [(999, 3), (1000, 10), (2000, 10), (2600, 1)])
def test_more_folds_choose_the_size_of_the_pruned_tree(monkeypatch, n, n_folds):
    monkeypatch.setattr(_folds, "MAX_PRUNING_SAMPLES", 2600)
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    given = make_problem(X, (X[:, 0] + random.normal(size=n) > 0).astype(int), max_depth=8)
    folds = _folds.pruning_folds(given)
    assert len(folds) == n_folds
    if n_folds > 1:
        assert np.sort(np.concatenate(folds)).tolist() == list(range(n))
    candidates = [each for each in default_candidates(given) if each.name in ("pruned", "tao C=1")]
    race = _default._Race(given, candidates, "auto", CONSTANT, 0.0)
    race.run()
    assert race._tree(given, "pruned") == Pruned().initialize(given)


def test_a_winner_is_as_if_it_had_been_asked_for(monkeypatch):
    monkeypatch.setattr(policy, "FEW_STEPS", 500)      # with few, another one wins
    X, y = load_digits(return_X_y=True)
    fitted = ObliqueTreeClassifier(4, leaf="constant", random_state=0).fit(X, y)
    assert fitted.candidates_["candidate"][np.argmax(fitted.candidates_["chosen"])] == (
        "annealed depth=4")
    alone = ObliqueTreeClassifier(
        4, init=RandomComplete(), optimizer=[Annealed(steps=500), CutLeaves()],
        validation_fraction=None, random_state=0).fit(X, y)
    # But for how sure the leaves are, which the folds have told.
    assert fitted.tree_.replace(values=alone.tree_.values) == alone.tree_
    np.testing.assert_array_equal(fitted.predict(X), alone.predict(X))
    np.testing.assert_equal(fitted.history_, alone.history_)
    assert fitted.n_iter_ == alone.n_iter_ > 0


@pytest.mark.parametrize(("estimator", "data"), [
    (ObliqueTreeClassifier, load_breast_cancer), (ObliqueTreeRegressor, load_diabetes)])
def test_threads_change_nothing(estimator, data):
    X, y = data(return_X_y=True)
    X, y = X[:150, :10], y[:150]     # threads that meet at each mini-batch are slow on busy cores
    one, more = (estimator(3, validation_fraction=0.3, random_state=0, n_jobs=n).fit(X, y)
                 for n in (1, 2))
    assert one.tree_ == more.tree_
    assert one.candidates_ == more.candidates_


def test_a_winner_without_time_for_all_samples_keeps_the_tree_of_a_fold(no_leaf):
    candidates = [Candidate("late", "initial", (Step(0.1),), (Late(0.4),)),
                  Candidate("worse", "initial", (Step(0.3),), (Step(0.3),))]
    deadline = Deadline.after(60.0)
    given = problem(300, control=Control(deadline))
    result = best_tree(given.replace(y=(given.X > 0.1).astype(float)), candidates)
    assert deadline.is_stopped
    assert result.tree.thresholds[0] == 0.1


def test_a_winner_that_fails_on_all_samples_gives_way(no_leaf):
    # Better on the folds, but its last training makes more errors on the very samples it is for.
    given = problem(300)
    given = given.replace(y=(given.X > 0.1).astype(float))
    steps = [Step(0.1), Step(0.12), Step(0.12)]
    failing = Candidate("failing", "initial", (steps[0],), (Step(0.4),))
    result = best_tree(given, [failing, Candidate("next", "initial", (steps[1],), (steps[2],))])
    assert result.candidates["chosen"] == [False, True, False]
    assert result.candidates["failed"] == [True, False, False]
    assert result.tree.thresholds[0] == 0.12
    # Both start from the same tree, which is made once.
    assert steps[2].seen[0][0] is failing.final[0].seen[0][0]
    # If all of them fail, the one with the least training error is kept.
    too = Candidate("too", "initial", (steps[1],), (Step(0.3),))
    for first, second in ((failing, too), (too, failing)):
        result = best_tree(given, [first, second])
        assert result.candidates["chosen"] == [first is too, second is too, False]
        assert result.candidates["failed"] == [first is failing, second is failing, False]


@pytest.mark.parametrize("n", [300, 3000])
def test_a_far_target_is_not_taken_for_a_failure(no_leaf, n):
    # It has most of all loss, whichever tree is trained, and whether a fold holds it out or not.
    given, random = problem(n), np.random.default_rng(0)
    stump = Tree([[1.0]], [0.1], [~0], [~1], [[0.0], [1.0]])
    y = (given.X > 0.1) + random.normal(0.0, 0.1, (n, 1))
    for far in random.choice(n, 6, replace=False):
        result = best_tree(
            given.replace(y=np.where(np.arange(n)[:, None] == far, 100.0, y), loss=SquaredLoss(),
                          n_outputs=1),
            [Candidate("stump", "initial", (Given(stump),), (Given(stump),)),
             Candidate("next", "initial", (Given(stump),), (Given(stump),))])
        assert "failed" not in result.candidates


@pytest.mark.parametrize("n", range(2, 6))
def test_samples_too_few_to_compare_on_are_told_apart(n):
    y = np.arange(n) % 2
    X = np.random.default_rng(0).normal(size=(n, 10))
    X[:, 0] = y
    assert ObliqueTreeClassifier(random_state=0).fit(X, y).score(X, y) == 1.0


def test_limits_hold_for_whoever_wins():
    X, y = load_breast_cancer(return_X_y=True)
    fitted = ObliqueTreeClassifier(min_samples_leaf=40, max_leaf_nodes=3, random_state=0).fit(X, y)
    assert fitted.n_node_samples_.min() >= 40
    assert fitted.get_n_leaves() <= 3


def test_targets_without_pattern_leave_a_single_leaf():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 4)), random.standard_cauchy(300)
    with pytest.warns(UserWarning, match="the model predicts the same for all rows"):
        fitted = ObliqueTreeRegressor(random_state=0).fit(X, y)
    assert fitted.get_n_leaves() == 1
    assert fitted.baseline_kept_
    assert fitted.predict(X[:1])[0] == pytest.approx(y.mean())
    assert fitted.candidates_["chosen"][fitted.candidates_["candidate"].index("single leaf")]


# With seed 2, the pruned tree is by chance two standard errors better than one leaf on the folds.
# Of such classes, a linear model may keep no slope, of which it warns.
@pytest.mark.filterwarnings("ignore:No tree was better than a single leaf")
@pytest.mark.parametrize("seed", [0, *in_nightly([1, 3])])
def test_classes_without_pattern_leave_a_single_leaf(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(400, 5)), random.integers(0, 2, 400)
    with pytest.warns(UserWarning, match="the model predicts the same for all rows"):
        fitted = ObliqueTreeClassifier(random_state=0).fit(X, y)
    assert fitted.get_n_leaves() == 1
    assert fitted.predict_proba(X[:1])[0, 1] == pytest.approx(y.mean(), abs=0.02)
    linear = ObliqueTreeClassifier(leaf="linear", random_state=0).fit(X, y)
    assert "single leaf" not in linear.candidates_["candidate"]


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
@pytest.mark.parametrize(("n", "parameters", "text"), [
    (5, {"optimizer": "tao"}, "The tree has no splits"),
    (30, {"validation_fraction": None}, "The tree has no splits"),
    (30, {"leaf": "linear"}, "No tree was better than a single leaf on held-out samples")])
def test_a_single_leaf_says_whether_anything_was_compared(estimator, n, parameters, text):
    """The columns are constant, or there are too few samples for folds."""
    X, y = np.ones((n, 2)), np.arange(n) % 2
    with pytest.warns(UserWarning, match=text):
        assert estimator(random_state=0, **parameters).fit(X, y).kind_ == "single leaf"


def test_a_single_leaf_comes_with_advice():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 1)), random.permutation(np.arange(100) < 10)
    with pytest.warns(UserWarning, match="the model predicts the same for all rows.*'balanced'$"):
        ObliqueTreeClassifier(max_depth=2, random_state=0).fit(X, y)


def test_with_a_rare_class_the_log_loss_decides():
    """By its errors, a tree with an area of 0.68 wins."""
    random = np.random.default_rng(1)
    X = random.normal(size=(6000, 6))
    rare = random.random(6000) < 1.0 / (1.0 + np.exp(3.5 - X[:, :4].sum(axis=1)))
    model = ObliqueTreeClassifier(random_state=0).fit(X[:1000], rare[:1000])
    assert model.kind_ == "score bands"
    assert roc_auc_score(rare[1000:], model.predict_proba(X[1000:])[:, 1]) > 0.82


def test_probabilities_are_a_pattern_even_where_no_class_is_likelier():
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 3))
    y = random.random(1500) < 1 / (1 + np.exp(2.2 - 1.2 * X[:, 0]))
    fitted = ObliqueTreeClassifier(random_state=0).fit(X, y)
    assert not fitted.candidates_["chosen"][-1]
    assert np.ptp(fitted.predict_proba(X)[:, 1]) > 0.2


@pytest.mark.parametrize("optimizer", ["annealed", Annealed(steps=100)])
def test_a_soft_optimizer_without_a_size_gets_the_best_of_two(optimizer):
    X, y = (part[:200] for part in load_breast_cancer(return_X_y=True))
    fitted = ObliqueTreeClassifier(optimizer=optimizer, random_state=0).fit(X, y)
    assert fitted.candidates_["candidate"] == [
        "annealed depth=6", "annealed depth=2", "pruned", "single leaf"]
    limited = ObliqueTreeClassifier(3, optimizer=optimizer, random_state=0).fit(X, y)
    assert limited.candidates_["candidate"] == ["annealed depth=3", "pruned", "single leaf"]
    assert limited.get_depth() <= 3


def test_given_parts_do_not_race():
    X, y = (part[:100] for part in load_breast_cancer(return_X_y=True))
    for given in ({"optimizer": "tao", "validation_fraction": 0.3}, {"optimizer": None},
                  {"optimizer": "tao", "validation_fraction": None},
                  {"optimizer": "tao", "init": "co2"}, {"init": "info_gain"}):
        fitted = ObliqueTreeClassifier(2, random_state=0, **given).fit(X, y)
        assert fitted.candidates_ == {}


def test_by_default_only_pruning_limits_the_depth_of_the_pruned_tree():
    # Shells around the centre: one tree needs many splits.
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 4))
    y = ((X**2).sum(axis=1) > 3.4).astype(int)
    parameters = dict(init="auto", optimizer="auto", random_state=0)
    limited, free, unlimited = (
        ObliqueTreeClassifier(**parameters, **depth).fit(X, y)
        for depth in ({"max_depth": 3}, {}, {"max_depth": None}))
    assert limited.get_depth() <= 3
    assert free.tree_ == unlimited.tree_
    chosen = ObliqueTreeClassifier(init="info_gain", optimizer=None).fit(X, y)
    assert chosen.get_depth() == 8


def test_with_many_classes_greedy_trees_are_deeper_by_default():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    y = np.arange(3000) % 30
    tree = ObliqueTreeClassifier(init="info_gain", optimizer=None).fit(X, y)
    assert tree.get_depth() == 10   # 2**10 leaves are the nearest to 32 per class
