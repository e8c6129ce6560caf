"""Audit records: building, validating and reading them."""
