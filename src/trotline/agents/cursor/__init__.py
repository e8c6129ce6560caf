"""Cursor: its payloads, replies, editions and refusal texts."""
