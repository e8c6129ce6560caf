"""Sends alerts and exported records from a child process."""
