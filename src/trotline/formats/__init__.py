"""Readers and writers of generic formats: JavaScript regexes, JSONC, TOML, HTTP."""
