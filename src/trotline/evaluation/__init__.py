"""Evaluates guards and policy rules against an event."""
