"""Levels of detail that are kept with a record."""

MINIMAL, STANDARD, FULL = "minimal", "standard", "full"
