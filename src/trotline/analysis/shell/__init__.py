"""Parse and analyse shell scripts."""
