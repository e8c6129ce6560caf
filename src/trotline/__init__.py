"""Trotline: hooks for coding agents."""

__version__ = "0.1.0.dev0"
