"""Parse and analyze shell scripts."""
