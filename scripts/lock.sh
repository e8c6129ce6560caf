#!/bin/sh
# Resolve what pyproject.toml asks for into hash-pinned files that uv and pip both read.
# No index address is written into them: where packages come from is the machine's business.
set -eu
cd "$(dirname "$0")/.."
compile() {
    out=$1; shift
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
        --no-annotate --custom-compile-command 'make lock' -o "$out" "$@"
}
compile locks/dev.txt pyproject.toml --group dev
compile locks/soak.txt pyproject.toml --group dev --group soak
