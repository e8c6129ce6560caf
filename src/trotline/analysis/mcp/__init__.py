"""Calls of MCP tools."""
