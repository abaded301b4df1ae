. /source/scripts/runbook/device.sh

for number in $(seq 1 20); do
  loopctl memory add --file memory "Filler number $number: $(printf 'x%.0s' $(seq 90))" >/dev/null || break
done
