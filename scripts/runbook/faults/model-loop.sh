. /source/scripts/runbook/device.sh

model loop
systemctl start model-server.service
restart loopd
loopctl prompt 'What about the boiler?' >/dev/null 2>&1 || true
echo "SESSION=$(newest)"
