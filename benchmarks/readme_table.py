"""The table of the README: one tree and one forest beside other models, on data that readers know.

Means over five random splits, or two of housing, into 70 % training and 30 % test samples,
stratified by class. The data come with scikit-learn, but for California housing: a data frame of
NGDT_DATA with a column of text and gaps. All models have their default parameters, except that
linear models get standardized features, and that 5-fold cross-validation chooses ccp_alpha of
scikit-learn's tree. Others than `ngdt` and boosting get one-hot features, and means and indicators
for the gaps.

Prints Markdown: accuracy or R² for each data set, and for one of them the leaves, the size of the
pickle, the CPU time of the fit, and of a prediction, for each of all test rows. Below the table:
the same for the other data sets, what the default chose, and the time of its prediction for one row
of an array, the same unchecked, and one row of a data frame.
"""

import pickle
from functools import partial

from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split

from benchmarks.data import BUNDLED, table
from benchmarks.fitting import latency, seconds_of
from benchmarks.models import chosen, make, n_leaves, prepared
from benchmarks.runner import Benchmark

# Data sets by their titles in the table, and the one whose costs it has.
DATA = {"breast_cancer": "breast cancer, %", "digits": "digits, %", "wine": "wine, %",
        "diabetes": "diabetes, R²", "california_housing": "housing, R²"}
COSTS_OF = "digits"
N_SPLITS = dict.fromkeys(DATA, 5) | {"california_housing": 2}
N_CALLS, N_PASSES = 100, 5
MODELS = {
    "`ngdt` tree": "tree",
    "`ngdt` forest": "forest",
    "pruned decision tree": "pruned tree",
    "logistic or ridge regression": "linear",
    "random forest": "random forest",
    "gradient boosting": "boosting",
}
DEFAULT = next(iter(MODELS))
COSTS = {"leaves": 0, "kB": 0, "fit_s": 2, "us_a_row": 1}   # digits after the point
LATENCIES = ("ms", "ms_unchecked", "ms_frame")


def jobs(quick):
    models = (DEFAULT, "pruned decision tree") if quick else MODELS
    return [{"model": model, "data": data, "split": split} for model in models
            for data in (("wine",) if quick else DATA)
            for split in range(1 if quick else N_SPLITS[data])]


def run(model, data, split):
    frame, y = table(data)
    X = frame.to_numpy() if data in BUNDLED else prepared(MODELS[model], frame)
    X, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y if y.dtype.kind == "i" else None, random_state=split)
    fitted = make(MODELS[model], X, y, split)
    fit_s = seconds_of(partial(fitted.fit, X, y_train))
    predict = min(seconds_of(partial(fitted.predict, X_test)) for _ in range(N_PASSES))
    score = accuracy_score if y.dtype.kind == "i" else r2_score
    row = {"score": (100 if y.dtype.kind == "i" else 1) * score(y_test, fitted.predict(X_test)),
           "leaves": n_leaves(fitted), "kB": len(pickle.dumps(fitted)) / 1e3, "fit_s": fit_s,
           "us_a_row": 1e6 * predict / len(X_test), "chosen": chosen(fitted)}
    if model == DEFAULT and data in BUNDLED and split == 0:
        of_frame = make(MODELS[model], frame, y, split).fit(frame, y)
        row |= {"ms": 1e3 * latency(fitted.predict, X_test, N_CALLS),
                "ms_unchecked": 1e3 * latency(
                    partial(fitted.predict, check_input=False), X_test, N_CALLS),
                "ms_frame": 1e3 * latency(of_frame.predict, frame, N_CALLS)}
    return [row]


def report(rows, folder):
    data = [name for name in DATA if name in set(rows["data"])]
    mean = rows.groupby(["model", "data"])[["score", *COSTS, *LATENCIES]].mean()
    costs_of = COSTS_OF if COSTS_OF in data else data[0]
    print(f"| model | {' | '.join(map(DATA.get, data))} | leaves | kB | fit, s | µs a row |")
    print("|---" + "|--:" * (len(data) + 4) + "|")
    for model in [model for model in MODELS if model in set(rows["model"])]:
        scores = mean["score"].reindex([(model, name) for name in data]).to_list()
        print("|", " | ".join([model, *(cell(score, 1 if "%" in DATA[name] else 2)
                                        for name, score in zip(data, scores, strict=True)),
                               *costs(mean.loc[model, costs_of])]), "|")
    print("\nleaves, kB, seconds of the fit, microseconds a row of all test rows")
    for (model, name), means in mean.iterrows():
        print(f"{name}, {model}:", ", ".join(costs(means)))
    picked = rows.dropna(subset="chosen").groupby(["model", "data", "chosen"]).size()
    print("\nchosen\n", picked.to_string())
    print(f"\nms of {DEFAULT}: an array, with `check_input=False`, a data frame")
    for name in set(data) & set(BUNDLED):
        means = mean.loc[(DEFAULT, name)]
        print(f"{name}:", ", ".join(cell(means[latency], 3) for latency in LATENCIES))


def costs(means):
    return [cell(means[name], digits) for name, digits in COSTS.items()]


def cell(number, digits):
    return "-" if number != number else f"{number:.{digits}f}"


BENCHMARK = Benchmark(
    "readme_table", "the table of the README", ("model", "data", "split"),
    ("score", *COSTS, "chosen", *LATENCIES), jobs, run, report)
