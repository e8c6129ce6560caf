#!/bin/sh
if grep -qE -- '--force|-f( |")'; then
    echo '{"permission": "deny", "user_message": "No force pushes.", "agent_message": "Push without force, or ask."}'
else
    echo '{"permission": "allow"}'
fi
