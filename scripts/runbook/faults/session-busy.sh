. /source/scripts/runbook/device.sh

model slow
systemctl start model-server.service
restart loopd
in_background turn loopctl prompt 'Tell me something long.'
for try in $(seq 50); do
  id=$(basename "$(ls -t $sessions/*.jsonl 2>/dev/null | head -n 1)" .jsonl)
  [ -z "$id" ] || grep -q '"type":"turn"' $sessions/$id.jsonl && break
  sleep 0.1
done
echo "SESSION=$id"
