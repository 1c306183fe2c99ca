#!/usr/bin/env bash
# Whether builds with other vector instructions give the trees of the build that chooses functions by
# the processor, bit for bit: one without those for AVX-512, and one for plain x86-64. BLAS is held to
# one kernel: that of another may round otherwise.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-Haswell} OPENBLAS_NUM_THREADS=1
grep -qw avx512vl /proc/cpuinfo || echo "no AVX-512 here: what is chosen are the functions for AVX2" >&2
for build in chosen avx2 plain; do
    mkdir "$work/$build"
    git -C "$root" ls-files -z | tar -C "$root" --null --files-from=- -cf - | tar -xf - -C "$work/$build"
    cd "$work/$build"
    flags=
    [ "$build" = chosen ] || flags=-DNGDT_${build^^}
    CFLAGS=$flags python setup.py -q build_ext --inplace -j2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    PYTHONPATH=$PWD python -W ignore tools/bits.py >"$work/$build.txt"
    diff "$work/chosen.txt" "$work/$build.txt"
done
echo "$(wc -l <"$work/plain.txt") models, equal bit for bit in all three builds"
