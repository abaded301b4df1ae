. /source/scripts/runbook/device.sh

loopctl memory add --file memory 'Drinks green tea.' >/dev/null
loopctl memory add --file memory 'Drinks black tea.' >/dev/null
fails_with memory-ambiguous loopctl memory remove --file memory tea
