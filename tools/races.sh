#!/usr/bin/env bash
# Run tests under the thread sanitizer on a free-threaded Python. There, no lock keeps threads apart
# in ngdt's Python code either.
#
#   PYTHON=/opt/tsan/bin/python3 SUPPRESSIONS=Tools/tsan/suppressions_free_threading.txt \
#       tools/races.sh [tests]
#
# PYTHON has to be built for it: ./configure --disable-gil --with-thread-sanitizer. SUPPRESSIONS, in
# the same sources, lists races of Python that are known. Reports are printed, and those that name a
# file of ngdt fail: Python has other races, and NumPy's wheels are not built with the sanitizer.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suppressions=$(realpath "$SUPPRESSIONS")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 MPLBACKEND=agg PYTHON_GIL=0 NGDT_SANITIZE=thread

git -C "$root" archive --prefix=source/ HEAD | tar -xf - -C "$work"
cd "$work/source"
# Cython takes a minute with an ordinary Python, and a quarter of an hour with the other one, where
# its declarations would be newer than what it has written.
python3 -m venv "$work/plain"
"$work/plain/bin/python" -m pip install -q "setuptools>=77.0.3" "Cython>=3.3.1,<4"
PYTHON_GIL= "$work/plain/bin/python" setup.py -q --version
find ngdt -name "*.c" -exec touch -d "1 hour" {} +
"$PYTHON" -m venv "$work/env"
"$work/env/bin/python" -m pip install -q --prefer-binary -e . pytest pytest-xdist hypothesis

# A forked child that starts threads, as in a test, would be ended otherwise.
export TSAN_OPTIONS="log_path=$work/found die_after_fork=0 history_size=4 suppressions=$suppressions"
tests=("$@")
[ $# -gt 0 ] || tests=(tests/test_threads.py tests/optimizers/test_s{gd,oft}_trainer.py
                       tests/forest/test_ensemble.py)
status=0
"$work/env/bin/python" -m pytest -q -n 0 -p no:cacheprovider "${tests[@]}" || status=$?
if compgen -G "$work/found*" >/dev/null; then
    cat "$work"/found*
    ! grep -q "source/ngdt/" "$work"/found* || status=1
fi
exit $status
