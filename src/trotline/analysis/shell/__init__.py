"""A line of shell as its shell would read it."""
