"""How an agent's loop ends, as far as hooks that keep it going must know."""

CUT_SHORT = frozenset({"aborted", "error"})
"""Ends that nobody is kept from: the person wanted it, or it broke. Most hosts do not say how an agent ended."""
