. /source/scripts/runbook/device.sh

set_value memoryd store 'durabel = "all"'
systemctl restart memoryd.service || true
