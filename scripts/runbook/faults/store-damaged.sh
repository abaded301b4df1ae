. /source/scripts/runbook/device.sh

# With a backup of the day before.
loopctl memory add --file memory 'The boiler is from 2019.' >/dev/null
loopctl backup /var/backups/loopkeep >/dev/null
systemctl stop memoryd.service 2>/dev/null
for file in $store/records/MANIFEST-*; do
  printf garbage | dd of="$file" bs=1 seek=20 conv=notrunc status=none
done
systemctl start memoryd.service
fails_with store-damaged put_record
