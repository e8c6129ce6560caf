#!/bin/sh
cat > /dev/null
echo '{"additional_context": "This repository deploys on Thursdays.", "env": {"TICKET": "SHOP-42"}}'
