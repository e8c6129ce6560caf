"""Analyze code of other languages: what its calls do to files, programs and the network."""
