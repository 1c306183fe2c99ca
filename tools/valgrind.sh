#!/usr/bin/env bash
# Train trees of all kinds under valgrind, which sees what gcc's sanitizers do not: values that are
# read before they are set, and what BLAS does with the memory that kernels give it.
#
#   tools/valgrind.sh
#
# Takes some minutes. Reports without a frame of ngdt are of Python and its packages, and do not
# count.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1 PYTHONMALLOC=malloc

cd "$root"
valgrind --log-file="$work/log" --num-callers=40 --error-limit=no --max-stackframe=8388608 \
    "${PYTHON:-python3}" -W ignore tools/bits.py >"$work/models"
# A report is what stands between two lines without text.
awk 'BEGIN { RS = "==[0-9]+== \n" } /ngdt/ && /at 0x/' "$work/log" >"$work/found"
tail -n 1 "$work/log"
if [ -s "$work/found" ]; then
    cat "$work/found"
    exit 1
fi
echo "$(wc -l <"$work/models") models, no report"
