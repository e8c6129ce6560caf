"""Evaluate recorded calls again to see which decisions another policy, preset or hook set would change."""
