#!/bin/sh
cat > /dev/null
echo '{"permission": "ask", "user_message": "This command talks to the network. Let it?"}'
