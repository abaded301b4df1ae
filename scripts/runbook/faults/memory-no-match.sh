. /source/scripts/runbook/device.sh

loopctl memory add --file user 'Prefers short answers.' >/dev/null
fails_with memory-no-match loopctl memory replace --file memory 'short answers' 'Long answers.'
