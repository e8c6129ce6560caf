#!/bin/sh
cat > /dev/null
echo '{"permission": "deny", "user_message": "No sub-agents with a shell of their own; run the command yourself."}'
