"""A small agent with real tools that fires every event of the hook system.

    loop.py         the loop: prompt, model, tools, stop, follow-up
    calls.py        one tool call with its events
    tools.py        Shell, Read, Write, Grep, LS, Delete and MCP; Task is in the loop, because it starts another one
    tool_context.py the session, workspace and person that tools use
    transcript.py   the messages that the model reads, and their compaction
    model.py        the protocol of a model, and a scripted one
    endpoint.py     a model behind an OpenAI-compatible endpoint
    mcp_client.py   a client of MCP servers; notes_server.py is one
    editor.py       a fake editor around the agent: Tab, and opening a workspace
    narrator.py     prints what hooks answered and what happened

It needs nothing but Trotline and what Trotline needs.
"""
