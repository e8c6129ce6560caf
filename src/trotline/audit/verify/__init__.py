"""Integrity of the audit log: hash chain, anchors and verification."""
