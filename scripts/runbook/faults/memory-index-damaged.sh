. /source/scripts/runbook/device.sh

# Every file of the index, and nothing else, is overwritten in the middle.
for number in $(seq 1 30); do loopctl memory add --file memory "Fact $number." >/dev/null || true; done
session 'The boiler broke in March.' >/dev/null
systemctl stop memoryd.service 2>/dev/null
find $store/index -type f -size +0 -exec dd if=/dev/urandom of={} bs=1 count=64 seek=8 conv=notrunc status=none \;
systemctl start memoryd.service
