. /source/scripts/runbook/device.sh

loopctl memory add --file memory 'Drinks green tea.' >/dev/null
loopctl memory add --file memory 'Drinks black tea.' >/dev/null
loopctl memory remove --file memory tea 2>&1 | grep -q memory-ambiguous
