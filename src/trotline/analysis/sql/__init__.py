"""SQL statements."""
