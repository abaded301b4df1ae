. /source/scripts/runbook/device.sh

set_value loopd broker 'socket = "/run/broker.sock"'
restart loopd
echo "SESSION=$(session 'Remember that the broker is away.')"
