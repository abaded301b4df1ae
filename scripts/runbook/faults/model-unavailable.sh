. /source/scripts/runbook/device.sh

model well
restart loopd
