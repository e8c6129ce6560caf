"""What an action would do: a line of shell, a file tool or a call of a server becomes a list of effects.

Nothing is run, and nothing is decided here: guards judge what is found.
"""
