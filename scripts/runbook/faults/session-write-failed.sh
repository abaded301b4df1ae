. /source/scripts/runbook/device.sh

session 'What time is it?' >/dev/null
chown root: $sessions
