. /source/scripts/runbook/device.sh

# Somebody stopped it, sockets and all.
systemctl stop memoryd.service loopkeep-{loop,gate,ops}.socket
