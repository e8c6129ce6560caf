"""Adapters that wrap the tool calls of a library with hooks. Each library has a file; `tool_call` is shared.

The rest of Trotline imports nothing from here, because each adapter imports its library.
"""
