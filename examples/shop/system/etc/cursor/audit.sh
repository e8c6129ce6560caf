#!/bin/sh
# The company keeps a line per tool call and has no opinion.
{ cat; echo; } >> audit.jsonl
echo '{}'
