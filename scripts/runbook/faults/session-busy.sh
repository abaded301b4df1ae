. /source/scripts/runbook/device.sh

model slow
systemctl start model-server.service
restart loopd
in_background turn bash -c "loopctl prompt 'Tell me something long.' || true"
for try in $(seq 100); do
  id=$(newest)
  if [ -n "$id" ] && grep -q '"type":"turn"' "$sessions/$id.jsonl"; then break; fi
  sleep 0.1
done
echo "SESSION=$id"
