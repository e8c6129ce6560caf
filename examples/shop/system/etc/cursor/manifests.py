#!/usr/bin/env python3
"""Deny Kubernetes manifests that give a container access to the whole machine."""

import json
import re
import sys

DANGERS = {
    r"privileged:\s*true": "a privileged container",
    r"hostPath:\s*(?:\{\s*|\n\s*)path:\s*[\"']?/[\"']?\s*(?:\}|\n|$)": "the root of the machine as a volume",
}

tool_input = json.load(sys.stdin)["tool_input"]
text = tool_input["content"] if tool_input["file_path"].endswith((".yaml", ".yml")) else ""
found = [name for pattern, name in DANGERS.items() if re.search(pattern, text)]
if found:
    reason = f"This manifest asks for {' and '.join(found)}."
    print(json.dumps({"permission": "deny", "user_message": reason, "agent_message": f"{reason} Write it without."}))
else:
    print('{"permission": "allow"}')
