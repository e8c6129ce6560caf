#!/usr/bin/env python3
"""Keeps files that hold secrets from the model."""

import json
import sys
from pathlib import PurePath

SECRET = {".env", "id_rsa", "id_ed25519", "credentials.json"}

event = json.load(sys.stdin)
name = PurePath(event.get("file_path", "")).name
if name in SECRET or name.startswith(".env."):
    answer = {"permission": "deny", "user_message": f"{name} holds secrets"}
else:
    answer = {"permission": "allow"}
print(json.dumps(answer))
