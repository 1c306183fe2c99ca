"""Wide and sparse data: CPU time and accuracy of the default fit beside logistic regression.

A row has the seconds of the fit and their ratio to those of scikit-learn's logistic regression on
the same samples, test accuracy of both, and leaves. The classes of the dense case depend on 5 of
20 000 features of noise, those of the sparse one on 300 of 3000.
"""

from functools import partial
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks.fitting import Fit
from benchmarks.runner import Benchmark, print_rows
from ngdt import ObliqueTreeClassifier

N_TEST = 2000


def text(random, n_samples=8000 + N_TEST, n_words=30_000, n_topics=20, n_own=500, length=45,
         share=0.25):
    """Counts of the words of short texts, each about one topic.

    A quarter of the words of a text are drawn from those of its topic, evenly; the others from all
    words, with frequencies as 1, 1/2, 1/3, ...
    """
    frequency = 1.0 / np.arange(1, n_words + 1)
    own = np.stack([random.choice(n_words, n_own, replace=False) for _ in range(n_topics)])
    y = random.integers(n_topics, size=n_samples)
    shape = n_samples, length
    common = random.choice(n_words, shape, p=frequency / frequency.sum())
    topical = own[y[:, None], random.integers(n_own, size=shape)]
    words = np.where(random.random(shape) < share, topical, common)
    X = sparse.csr_matrix(
        (np.ones(words.size, dtype=np.float32), words.ravel(),
         np.arange(0, words.size + 1, length)), shape=(n_samples, n_words))
    X.sum_duplicates()
    return X, y


def code(random, packages=(np, scipy, sklearn), n_lines=40, n_words=20_000):
    """Words of pieces of the code of packages, but for their names, and the package of each."""
    pieces, y = [], []
    for package in packages:
        for path in sorted(Path(package.__file__).parent.rglob("*.py")):
            lines = path.read_text(encoding="utf-8").splitlines()
            starts = range(0, len(lines) - n_lines + 1, n_lines)
            pieces += ["\n".join(lines[start:start + n_lines]) for start in starts]
            y += [package.__name__] * len(starts)
    order = random.permutation(len(pieces))
    names = [package.__name__ for package in packages]
    words = TfidfVectorizer(
        token_pattern="[a-z]{3,}", stop_words=names, max_features=n_words, dtype=np.float32)
    return words.fit_transform([pieces[i] for i in order]), np.array(y)[order]


def dense(random, n_samples=200 + N_TEST):
    X = random.normal(size=(n_samples, 20_000)).astype(np.float32)
    return X, X[:, :5].sum(axis=1) > 0


def csr(random, n_samples=800 + N_TEST):
    X = sparse.random_array((n_samples, 3000), density=0.017, format="csr", rng=random)
    score = np.asarray(X[:, :300].sum(axis=1)).ravel()
    return X, score > score.mean()


CASES = {"text 8000 x 30000": text,
         "text 20000 x 30000": partial(text, n_samples=20_000 + N_TEST), "code": code,
         "dense 200 x 20000": dense, "csr 800 x 3000": csr}


def jobs(quick):
    return [{"case": case, "seed": seed} for case in (list(CASES)[-1:] if quick else CASES)
            for seed in range(1 if quick else 3)]


def run(case, seed):
    X, y = CASES[case](np.random.default_rng(seed))
    X, y, *test = X[:-N_TEST], y[:-N_TEST], X[-N_TEST:], y[-N_TEST:]
    tree, linear = (Fit.of(model, X, y) for model in (
        ObliqueTreeClassifier(random_state=0), LogisticRegression()))
    return [{"seconds": tree.seconds, "ratio": tree.seconds / linear.seconds,
             "accuracy": tree.model.score(*test), "logistic": linear.model.score(*test),
             "leaves": tree.model.get_n_leaves()}]


BENCHMARK = Benchmark(
    "wide", "wide and sparse data, beside logistic regression", ("case", "seed"),
    ("seconds", "ratio", "accuracy", "logistic", "leaves"), jobs, run, print_rows)
