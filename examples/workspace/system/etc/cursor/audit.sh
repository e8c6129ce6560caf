#!/bin/sh
# The enterprise keeps a line per command and has no opinion.
cat >> "${TMPDIR:-/tmp}/audit.jsonl"
echo '{}'
