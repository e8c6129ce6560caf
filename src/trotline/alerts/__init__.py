"""Alerts: somebody is told of a record when it has reached the trail. Off by default; no call waits for it."""
