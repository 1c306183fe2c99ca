#!/usr/bin/env bash
# Run a part of the suite with the oldest and the newest versions of the packages that ngdt computes
# with, in bare environments of the Python that PYTHON names.
#
#   tools/versions.sh                    oldest and newest
#   tools/versions.sh oldest [tests]     only these versions, or other tests
#   tools/versions.sh pre                newest, with pre-releases
#
# The oldest are the lower bounds of pyproject.toml or, where these have no wheels for this Python,
# the first later ones that have.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 MPLBACKEND=agg

# Old versions of matplotlib warn with a newer pyparsing than they had, and so end the tests.
oldest() {
    "$1" -m pip install -q uv
    echo "pyparsing>=3.1" | "$1" -m uv pip compile -q --resolution lowest-direct --no-build \
        --extra plot --extra cli pyproject.toml -
}

run() {
    local name=$1
    shift
    git -C "$root" archive --prefix="$name/" HEAD | tar -xf - -C "$work"
    "${PYTHON:-python3}" -m venv "$work/$name-env"
    local python=$work/$name-env/bin/python constraints=$work/$name.txt
    cd "$work/$name"
    if [ "$name" = oldest ]; then oldest "$python"; fi >"$constraints"
    local options=()
    [ "$name" != pre ] || options=(--pre)
    "$python" -m pip install -q --prefer-binary "${options[@]}" -c "$constraints" \
        -e ".[plot,cli]" pytest hypothesis
    "$python" -VV
    "$python" -m pip list 2>/dev/null |
        grep -iE '^(numpy|scipy|scikit-learn|pandas|joblib|narwhals|matplotlib) '
    "$python" -m pytest -q -p no:cacheprovider "$@"
}

names=(oldest newest)
tests=(tests/test_load.py tests/test_threads.py tests/core tests/greedy tests/inference
       tests/persistence/test_golden.py tests/persistence/test_save_load.py tests/estimators/test_checkpoint.py
       tests/estimators/test_tables.py tests/estimators/test_fitted_estimators.py)
[ $# -eq 0 ] || { names=("$1"); shift; }
[ $# -eq 0 ] || tests=("$@")
for name in "${names[@]}"; do
    (run "$name" "${tests[@]}")
done
