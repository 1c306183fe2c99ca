#!/usr/bin/env bash
# Run a part of the suite with the oldest supported and the newest versions of the packages that
# ngdt computes with, each in a bare environment.
#
#   tools/versions.sh                    both
#   tools/versions.sh oldest [tests]     only these versions, or other tests
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 MPLBACKEND=agg

# The lower ends that pyproject.toml names.
oldest() {
    "${PYTHON:-python3}" - "$root/pyproject.toml" <<'END'
import sys, tomllib
project = tomllib.load(open(sys.argv[1], "rb"))["project"]
for each in [*project["dependencies"], "pandas>=2.0", "matplotlib>=3.8", "pyparsing>=3.1"]:
    name, _, version = each.partition(">=")
    print(f"{name}=={version}.*" if version.count(".") < 2 else f"{name}=={version}")
END
}

run() {
    local name=$1
    shift
    git -C "$root" archive --prefix="$name/" HEAD | tar -xf - -C "$work"
    "${PYTHON:-python3}" -m venv "$work/$name-env"
    local python=$work/$name-env/bin/python
    if [ "$name" = oldest ]; then
        oldest >"$work/constraints.txt"
    else
        : >"$work/constraints.txt"
    fi
    cd "$work/$name"
    "$python" -m pip install -q -c "$work/constraints.txt" -e . pandas matplotlib pytest hypothesis
    "$python" -m pip list 2>/dev/null | grep -iE '^(numpy|scipy|scikit-learn|pandas|joblib|narwhals) '
    "$python" -m pytest -q -p no:cacheprovider "$@"
}

names=(oldest newest)
tests=(tests/core tests/greedy tests/inference tests/persistence/test_golden.py
       tests/persistence/test_save_load.py tests/estimators/test_checkpoint.py
       tests/estimators/test_tables.py tests/estimators/test_fitted_estimators.py)
[ $# -eq 0 ] || { names=("$1"); shift; }
[ $# -eq 0 ] || tests=("$@")
for name in "${names[@]}"; do
    (run "$name" "${tests[@]}")
done
