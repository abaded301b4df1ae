. /source/scripts/runbook/device.sh

# Something else answers on the socket of a plain home.
mkdir -p /root/plain/run/loop-memory
in_background listener /usr/lib/loopkeep/node -e \
  "require('node:net').createServer().listen('/root/plain/run/loop-memory/memory.sock')"
for try in $(seq 50); do [ ! -S /root/plain/run/loop-memory/memory.sock ] || break; sleep 0.1; done
echo "LISTENER=$(pid_of listener)"
