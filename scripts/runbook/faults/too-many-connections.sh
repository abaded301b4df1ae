. /source/scripts/runbook/device.sh

# Whoever is refused tries again, so that every connection is taken and stays so, however many others held before.
in_background greedy /usr/lib/loopkeep/node -e \
  "const hold = () => require('node:net').connect('/run/loopkeep/ops-memory/memory.sock').on('error', () => {}).on('close', () => setTimeout(hold, 50)).resume(); for (let n = 0; n < 260; n += 1) hold()"
refused=0
for try in $(seq 100); do
  if fails_with too-many-connections loopctl block 2>/dev/null; then refused=$((refused + 1)); else refused=0; fi
  [ $refused -lt 3 ] || break
  sleep 0.1
done
echo "GREEDY=$(pid_of greedy)"
