#!/bin/sh
# The matcher has decided already; whatever comes here wants to reach the network.
cat >/dev/null
echo '{"permission": "ask", "user_message": "This command reaches the network. Let it?"}'
