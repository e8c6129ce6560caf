"""The audit log: records, and the spool that holds them until they are stored."""
