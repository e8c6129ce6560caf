#!/bin/sh
# setup.sh VENV LOCK: make the virtual environment if it is missing and install what LOCK pins, then this package.
# uv when it is on the PATH (seconds), else venv and pip. Both read the same hash-pinned file.
set -eu
venv=$1 lock=$2
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    for name in python3.13 python3.12 python3.11 python3.14; do
        if "$name" -c '' 2>/dev/null; then python=$name; break; fi
    done
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "trotline needs Python 3.11 or newer; found: $("$python" --version 2>&1 || echo none)" >&2
    echo "hint: make PYTHON=/path/to/python3.11 $*" >&2
    exit 1
fi

if command -v uv >/dev/null 2>&1; then
    echo "==> environment: uv, $lock"
    [ -x "$venv/bin/python" ] || uv venv --quiet --python "$python" "$venv"
    uv pip install --quiet --python "$venv/bin/python" --require-hashes -r "$lock"
    uv pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation -e .
else
    echo "==> environment: venv and pip, $lock (uv would be quicker)"
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
fi
