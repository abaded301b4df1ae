. /source/scripts/runbook/device.sh

set_value loopd policy 'memory = "deny"'
restart loopd
echo "SESSION=$(session 'Remember that the runbook denies it.')"
