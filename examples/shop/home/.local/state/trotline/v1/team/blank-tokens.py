#!/usr/bin/env python3
"""Results of MCP tools reach the model without the tokens in them."""

import json
import re
import sys

event = json.load(sys.stdin)
clean = re.sub(r"tok-[\w-]+", "[a token]", event["tool_output"])
print(json.dumps({"updated_mcp_tool_output": json.loads(clean)} if clean != event["tool_output"] else {}))
