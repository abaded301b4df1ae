. /source/scripts/runbook/device.sh

model full
systemctl start model-server.service
restart loopd
