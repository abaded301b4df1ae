. /source/scripts/runbook/device.sh

# The folder lost its right to be written.
loopctl memory add --file memory 'The boiler is from 2019.' >/dev/null
chmod 0500 $memory
