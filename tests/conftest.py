"""Hypothesis profiles and the folder of the data sets."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# No deadline: the first example pays for imports, and the machines that run this are shared. The
# default draws the same examples every time, so that a patch fails for what it changed; "nightly"
# is what looks for new ones.
settings.register_profile("dev", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def load_data():
    """Function from the name of a data set to its arrays; skips where there are no data sets."""
    folder = Path(os.environ.get("NGDT_DATA", ROOT.parent / "shared" / "data"))

    def load(name):
        file = folder / f"{name}.npz"
        if not file.is_file():
            pytest.skip(f"no data set {file}: NGDT_DATA names the folder of the data sets")
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)

    return load
