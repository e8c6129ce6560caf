#!/usr/bin/env python3
"""Deny reads of files that hold secrets."""

import json
import sys
from pathlib import PurePath

SECRET = {".env", "id_rsa", "id_ed25519", "credentials.json"}

event = json.load(sys.stdin)
name = PurePath(event.get("file_path", "")).name
if name in SECRET or name.startswith(".env."):
    reply = {"permission": "deny", "user_message": f"{name} holds secrets"}
else:
    reply = {"permission": "allow"}
print(json.dumps(reply))
