. /source/scripts/runbook/device.sh

echo '{"run_id":"runbook","iteration":1,"kind":"run_started","detail":"","created_ms":1}' |
  loopctl record put ledger --request-id runbook-1 >/dev/null
