"""Export formats of audit records."""
