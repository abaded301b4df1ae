. /source/scripts/runbook/device.sh

in_background greedy /usr/lib/loopkeep/node -e \
  "for (let n = 0; n < 256; n += 1) require('node:net').connect('/run/loopkeep/ops-memory/memory.sock'); setInterval(() => {}, 1e6)"
for try in $(seq 100); do fails_with too-many-connections loopctl block 2>/dev/null && break; sleep 0.1; done
echo "GREEDY=$(pid_of greedy)"
