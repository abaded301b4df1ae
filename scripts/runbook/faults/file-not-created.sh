. /source/scripts/runbook/device.sh

# The entry's own first command causes it.
rm -rf /var/backups/runbook
