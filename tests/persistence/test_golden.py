"""Files that earlier versions wrote are loaded, and predict what they predicted."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ngdt
from ngdt._util.container import FORMAT_VERSION
from ngdt.export import export_text

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.ngdt"))


def test_there_are_files_of_every_version():
    versions = {path.stem.split("-")[1] for path in FILES}
    assert versions == {str(version) for version in range(1, FORMAT_VERSION + 1)}


# Of so few samples, all categories are rare.
@pytest.mark.filterwarnings("ignore:X. all categories of columns .'city'. are rare")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_files(path):
    name, version = path.stem.split("-")
    expected = json.loads((FOLDER / f"expected-{version}.json").read_text(encoding="utf-8"))[name]
    X = expected.pop("X")
    X = pd.DataFrame(X) if isinstance(X, dict) else np.array(X)
    model = ngdt.load(path)
    for method, predictions in expected.items():
        got = getattr(model, method)(X)
        if got.dtype.kind == "f":       # exp and sums differ in the last bits between machines
            np.testing.assert_allclose(got, predictions, rtol=1e-12, atol=1e-12)
        else:
            assert got.tolist() == predictions
    assert export_text(getattr(model, "estimators_", [model])[0])
    assert model.fit(X, expected["predict"]).predict(X).shape == np.shape(expected["predict"])
