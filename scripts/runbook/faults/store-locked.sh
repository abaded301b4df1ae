. /source/scripts/runbook/device.sh

# A second memoryd, started by hand on the same store.
systemctl stop memoryd.service 2>/dev/null
in_background holder runuser -u memoryd -- /usr/bin/memoryd serve --config $settings/memoryd.toml
for try in $(seq 100); do
  pid=$(pgrep -u memoryd -f 'memoryd/main.js' || true)
  [ -z "$pid" ] || [ ! -s $store/../store/lock ] || break
  sleep 0.1
done
sleep 1
systemctl start memoryd.service || true
echo "HOLDER=$pid"
