"""Find the effects of an action: of a shell line, a file tool or a call of an MCP server.

Nothing is run and nothing is decided here; guards decide.
"""
