. /source/scripts/runbook/device.sh

systemctl stop memoryd.service 2>/dev/null
small_disk $store 256
free=$(df --output=avail --block-size 1 $store | tail -n 1)
fallocate -l $((free - 6000000)) $store/somebody-elses-file
chmod 0644 $store/somebody-elses-file
systemctl start memoryd.service
loopctl health --wait 30 >/dev/null || true
