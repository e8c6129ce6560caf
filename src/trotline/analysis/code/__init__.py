"""Code of other languages, read for what its calls would do to files, programs and the network."""
