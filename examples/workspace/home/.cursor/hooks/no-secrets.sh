#!/bin/sh
if grep -q '\.env"'; then
    echo '{"permission": "deny", "user_message": "Secrets stay here."}'
else
    echo '{"permission": "allow"}'
fi
