. /source/scripts/runbook/device.sh

model refuse
systemctl start model-server.service
restart loopd
