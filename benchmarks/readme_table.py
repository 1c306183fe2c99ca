"""The table of the README: one tree against other models, on data that come with scikit-learn.

    python benchmarks/readme_table.py

Means over five random splits into 70 % training and 30 % test samples, stratified by class. All
models have their default parameters, except that logistic regression gets standardized features,
and that 5-fold cross-validation chooses ccp_alpha of scikit-learn's tree. Prints Markdown: test
accuracy, and for the data sets in this order the size of the pickle and the time of a prediction
for one sample, on one core.
"""

import argparse
import pickle
import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from ngdt import ObliqueTreeClassifier

DATA = {"breast cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine}
MODELS = {
    "`ObliqueTreeClassifier`": lambda seed: ObliqueTreeClassifier(random_state=seed),
    "pruned `DecisionTreeClassifier`": lambda seed: DecisionTreeClassifier(random_state=seed),
    "`LogisticRegression`": lambda seed: make_pipeline(StandardScaler(), LogisticRegression()),
    "`RandomForestClassifier`": lambda seed: RandomForestClassifier(random_state=seed),
    "`HistGradientBoostingClassifier`": lambda seed: HistGradientBoostingClassifier(
        random_state=seed),
}


def fit(model, X, y):
    """Fit, and choose ccp_alpha of a tree among those at which pruning changes it."""
    if not isinstance(model, DecisionTreeClassifier):
        return model.fit(X, y)
    # Rounding may make the smallest alphas negative. Some 40 of them cover the path.
    alphas = np.unique(np.maximum(model.cost_complexity_pruning_path(X, y).ccp_alphas, 0.0))
    alphas = alphas[::max(1, len(alphas) // 40)]
    return GridSearchCV(model, {"ccp_alpha": alphas}, cv=5).fit(X, y).best_estimator_


def milliseconds(predict, X, calls=100):
    """CPU time of a prediction for one sample, which other programs disturb less than wall time."""
    seconds = []
    for i in range(calls):
        x = X[i % len(X):][:1]
        start = time.process_time()
        predict(x)
        seconds.append(time.process_time() - start)
    return 1e3 * np.median(seconds)


def measure(make, load, seed):
    """Test accuracy in per cent, size of the pickle in kB, milliseconds for one sample."""
    X, y = load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    model = fit(make(seed), X, y)
    figures = [100 * model.score(X_test, y_test), len(pickle.dumps(model)) / 1e3,
               milliseconds(model.predict, X_test)]
    if isinstance(model, ObliqueTreeClassifier):
        figures.append(milliseconds(lambda x: model.predict(x, check_input=False), X_test))
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5, help="random splits (default: 5)")
    splits = parser.parse_args().splits
    print("| model |", *(f"{name}, % |" for name in DATA), "kB | ms |")
    print("|---" * (len(DATA) + 3) + "|")
    for name, make in MODELS.items():
        # One row for each data set, one column for each figure.
        mean = np.array([np.mean([measure(make, load, seed) for seed in range(splits)], axis=0)
                         for load in DATA.values()])
        accuracy, size, *latency = (
            [f"{figure:.{digits}f}" for figure in column]
            for column, digits in zip(mean.T, (1, 0, 2, 3), strict=False))
        print("|", " | ".join([name, *accuracy, " / ".join(size), " / ".join(latency[0])]), "|",
              flush=True)
        if latency[1:]:
            unchecked = " / ".join(latency[1])
    print(f"\nms of `ObliqueTreeClassifier` with `check_input=False`: {unchecked}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
