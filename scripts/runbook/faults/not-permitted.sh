. /source/scripts/runbook/device.sh

# The entry's own first command causes it.
true
