"""Readers and writers of generic formats: JavaScript regexes, JSONC and TOML."""
