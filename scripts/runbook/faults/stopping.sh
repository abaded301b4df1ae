. /source/scripts/runbook/device.sh

systemctl stop loopkeep.target
