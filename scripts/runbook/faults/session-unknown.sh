. /source/scripts/runbook/device.sh

echo "SESSION=$(session 'What time is it in the runbook?')"
