"""Configuration files: their layers, the hooks in them, and their problems."""
