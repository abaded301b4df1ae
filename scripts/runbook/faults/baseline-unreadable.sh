. /source/scripts/runbook/device.sh

set_value loopd baseline "system = \"$settings/system.md\""
restart loopd || true
