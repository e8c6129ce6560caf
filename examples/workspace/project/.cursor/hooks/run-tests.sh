#!/bin/sh
# Keeps the agent going until the tests pass; the entry's loop_limit ends it.
cat > /dev/null
if [ -e tests-pass ]; then
    echo '{}'
else
    echo '{"followup_message": "The tests fail. Fix them, then stop."}'
fi
