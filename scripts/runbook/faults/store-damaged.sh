. /source/scripts/runbook/device.sh

# With a backup of the day before.
loopctl memory add --file memory 'The boiler is from 2019.' >/dev/null
loopctl backup --to /var/backups/loopkeep/daily >/dev/null
systemctl stop memoryd.service 2>/dev/null
for file in $store/records/MANIFEST-*; do
  printf garbage | dd of="$file" bs=1 seek=20 conv=notrunc status=none
done
systemctl start memoryd.service
echo '{"run_id":"r","iteration":1,"kind":"run_started","detail":"","created_ms":1}' |
  loopctl record put ledger 2>&1 | grep -q store-damaged
