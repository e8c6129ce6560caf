#!/bin/sh
# For a file that is to be read, and for a command that names one. To Tab one can only say yes or no.
event=$(cat)
if ! echo "$event" | grep -qE '"(file_path|command)":"[^"]*\.env'; then
    echo '{"permission": "allow"}'
elif echo "$event" | grep -q '"hook_event_name":"beforeTabFileRead"'; then
    echo '{"permission": "deny"}'
else
    echo '{"permission": "deny", "user_message": "Secrets stay with me."}'
fi
