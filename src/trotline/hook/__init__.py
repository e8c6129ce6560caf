"""The hook side: answers one call of an agent."""
