"""How much of what was said is kept beside a record."""

MINIMAL, STANDARD, FULL = "minimal", "standard", "full"
