#!/bin/sh
cat > /dev/null
echo '{"additional_context": "In this repository prices are cents. Run the tests with: python3 -B -m unittest -q",
       "env": {"TICKET": "SHOP-42"}}'
