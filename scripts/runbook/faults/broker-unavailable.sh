. /source/scripts/runbook/device.sh

set_value loopd broker 'socket = "/run/broker.sock"'
restart loopd
