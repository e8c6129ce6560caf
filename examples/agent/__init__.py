"""A small agent with real tools that raises every event of the hook system at its moment.

    loop.py         the story: prompt, model, tools, stop, follow-up
    calls.py        the story of one tool call: asked, done, told
    tools.py        Shell, Read, Write, Grep, LS, Delete and MCP; Task stands in the loop, because it starts another one
    hand.py         what tools work with: the session, the workspace, the person
    transcript.py   what the model reads, and how it is kept short
    model.py        a model, and the one that plays a script
    endpoint.py     a model behind an OpenAI-compatible endpoint
    mcp_client.py   speaks to MCP servers; notes_server.py is one
    editor.py       a double of the editor around the agent: Tab, and the opening of a workspace
    narrator.py     tells in sentences what hooks said and what came of it

It needs nothing but Trotline and what Trotline needs.
"""
