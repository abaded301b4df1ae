. /source/scripts/runbook/device.sh

mv /usr/lib/loopkeep/node_modules/koffi /root/koffi
systemctl restart memoryd.service || true
