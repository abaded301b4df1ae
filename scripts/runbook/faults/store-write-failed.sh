. /source/scripts/runbook/device.sh

# The file system of the store becomes read-only, as after an error of the disk.
systemctl stop memoryd.service 2>/dev/null
small_disk $store 256
systemctl start memoryd.service
loopctl health --wait 30 >/dev/null
nsenter --target "$(systemctl show --value --property MainPID memoryd.service)" --mount \
  mount -o remount,ro $store 2>/dev/null || true
mount -o remount,ro $store
echo '{"run_id":"r","iteration":1,"kind":"run_started","detail":"","created_ms":1}' |
  loopctl record put ledger 2>&1 | grep -q store-write-failed
