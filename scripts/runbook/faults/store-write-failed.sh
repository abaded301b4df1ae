. /source/scripts/runbook/device.sh

# Somebody worked on the store as root. What is open goes on; the next file cannot be made.
chown root:root $store/records
chmod 0755 $store/records
mebibyte=$(head -c 1000000 /dev/zero | tr '\0' x)
for number in $(seq 30); do
  said=$(printf '{"run_id":"runbook","key":"%s","value":"%s"}' "$number" "$mebibyte" | loopctl record put scratchpad 2>&1) || break
done
grep -q "runbook: store-write-failed" <<<"$said" || { echo "$said"; exit 1; }
