#!/usr/bin/env bash
# Whether a build for plain x86-64 gives the trees of the build that chooses functions by the
# processor, bit for bit. BLAS is held to one kernel: that of another may round otherwise.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-Haswell} OPENBLAS_NUM_THREADS=1
for build in chosen plain; do
    mkdir "$work/$build"
    git -C "$root" ls-files -z | tar -C "$root" --null --files-from=- -cf - | tar -xf - -C "$work/$build"
    cd "$work/$build"
    flags=
    [ "$build" = chosen ] || flags=-DNGDT_PLAIN
    CFLAGS=$flags python setup.py -q build_ext --inplace -j2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    PYTHONPATH=$PWD python -W ignore tools/bits.py >"$work/$build.txt"
done
diff "$work/chosen.txt" "$work/plain.txt"
echo "$(wc -l <"$work/plain.txt") models, equal bit for bit"
