. /source/scripts/runbook/device.sh

echo "LONG_HOME=/root/$(printf 'a-long-folder-name/%.0s' $(seq 6))home"
