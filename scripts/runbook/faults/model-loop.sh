. /source/scripts/runbook/device.sh

model loop
systemctl start model-server.service
restart loopd
loopctl prompt --json 'What about the boiler?' >/dev/null 2>&1 || true
echo "SESSION=$(basename "$(ls -t $sessions/*.jsonl | head -n 1)" .jsonl)"
