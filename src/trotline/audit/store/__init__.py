"""Storage of audit records: spool, SQLite store and retention."""
