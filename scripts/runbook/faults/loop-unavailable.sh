. /source/scripts/runbook/device.sh

systemctl stop loopd.service loopkeep-channel.socket
