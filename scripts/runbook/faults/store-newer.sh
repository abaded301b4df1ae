. /source/scripts/runbook/device.sh

loopctl backup --to /var/backups/loopkeep/before-upgrade >/dev/null
systemctl stop memoryd.service 2>/dev/null
/usr/lib/loopkeep/node $source/newer.mjs $store
systemctl start memoryd.service
