. /source/scripts/runbook/device.sh

# A second memoryd on the same store, started by hand.
systemctl stop memoryd.service 2>/dev/null
sed "s#^run = .*#run = \"/run/runbook-second\"#" $settings/memoryd.toml >/run/runbook-second.toml
install -d -o memoryd -g memoryd -m 0700 /run/runbook-second
in_background second runuser -u memoryd -- memoryd serve --config /run/runbook-second.toml
for try in $(seq 100); do
  [ ! -S /run/runbook-second/ops-memory/memory.sock ] || break
  sleep 0.1
done
systemctl start memoryd.service || true
