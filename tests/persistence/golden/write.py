"""Write the golden files of the present version of the format, which later versions must load.

Run it from the folder `tests`, as ``python persistence/golden/write.py``, when the format gets a
new version, and keep the files of the older ones.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import model_cases
import ngdt
from ngdt._util.container import FORMAT_VERSION

FOLDER = Path(__file__).parent
CASES = {
    "classifier": (model_cases.tree_on_frame, "predict_proba"),
    "regressor": (model_cases.linear_leaves, "predict_quantiles"),
    "forest": (model_cases.forest, "predict_proba"),
}
N_SAMPLES = 12


def main():
    expected = {}
    for name, (make, method) in CASES.items():
        model, X, _ = make()
        if hasattr(model, "estimators_"):
            del model.estimators_[2:]       # two trees show what many do
        X = X[:N_SAMPLES]
        ngdt.save(model, FOLDER / f"{name}-{FORMAT_VERSION}.ngdt")
        expected[name] = {
            "X": X.to_dict("list") if hasattr(X, "columns") else X.tolist(),
            "predict": model.predict(X).tolist(),
            method: getattr(model, method)(X).tolist()}
    path = FOLDER / f"expected-{FORMAT_VERSION}.json"
    path.write_text(json.dumps(expected) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
