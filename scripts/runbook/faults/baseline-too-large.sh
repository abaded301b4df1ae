. /source/scripts/runbook/device.sh

for number in $(seq 3000); do echo "Rule $number: be brief."; done >$settings/system.md
set_value loopd baseline "system = \"$settings/system.md\""
restart loopd || true
