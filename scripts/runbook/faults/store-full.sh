. /source/scripts/runbook/device.sh

systemctl stop memoryd.service 2>/dev/null
small_disk $store 256
fallocate -l 240M $store/somebody-elses-file
chmod 0644 $store/somebody-elses-file
systemctl start memoryd.service
loopctl health --wait 30 >/dev/null || true
