#!/bin/sh
# Keeps the agent going until the tests pass; the entry's loop_limit ends it. TICKET was set when the session began.
cat > /dev/null
if failed=$(python3 -B -m unittest -q 2>&1); then
    echo '{}'
else
    names=$(echo "$failed" | sed -n 's/^FAIL: \([a-z_]*\).*/\1/p' | tr '\n' ' ')
    echo "{\"followup_message\": \"${TICKET:-Hm}: these tests fail: ${names% }. Fix them, then stop.\"}"
fi
