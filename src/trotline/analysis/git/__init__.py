"""Git commands."""
