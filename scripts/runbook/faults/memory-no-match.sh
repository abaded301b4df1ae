. /source/scripts/runbook/device.sh

loopctl memory add --file user 'Prefers short answers.' >/dev/null
loopctl memory replace --file memory 'short answers' 'Long answers.' 2>&1 | grep -q memory-no-match
