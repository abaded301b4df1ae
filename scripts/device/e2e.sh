#!/bin/bash
# e2e.sh: the package under a real systemd, from the install to the purge. As root; downloads nothing, leaves nothing.
# Prints 'SKIP e2e: reason' where it cannot run, and fails there with REQUIRE_ALL=1.
set -uo pipefail

cd "$(dirname "$(readlink -f "$0")")/../.."
labsd=scripts/device/labsd
export LABSD_NAME=${LABSD_NAME:-loopkeep-e2e-$$} LABSD_BIND=$PWD:/source
run=/run/loopkeep
data=/var/lib/loopkeep
scratch=$(mktemp -d)
passed=0
failed=0
started_s=$(date +%s)

if ! why=$($labsd can); then
  echo "SKIP e2e: $why"
  [ "${REQUIRE_ALL:-0}" != 1 ] || exit 1
  exit 0
fi

inside() { $labsd exec "$@"; }
tidy() {
  inside journalctl --no-pager >"$scratch/journal" 2>/dev/null
  [ $failed = 0 ] || { cp "$scratch/journal" build/e2e-journal.txt && echo 'the journal is in build/e2e-journal.txt'; }
  $labsd down >/dev/null 2>&1
  rm -rf "$scratch"
}
trap tidy EXIT

# is WANTED GOT WHAT
is() {
  if [ "$1" = "$2" ]; then
    passed=$((passed + 1))
    echo "ok    $3"
  else
    failed=$((failed + 1))
    echo "FAIL  $3: wanted '$1', got '$2'"
  fi
}

field() { node -e 'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => {
  let value; try { value = JSON.parse(s); } catch { value = {}; }
  for (const key of process.argv[1].split(".")) value = value?.[key];
  console.log(typeof value === "object" ? JSON.stringify(value) : String(value)); })' "$1"; }

show() { inside systemctl show --value --property "$1" "$2"; }
ask() { inside node /source/scripts/device/ask.mjs "$@"; }
load() { inside node /source/scripts/device/load.mjs "$@"; }
status_of() { "$@" >/dev/null 2>&1; echo $?; }
code_of() { "$@" 2>&1 >/dev/null | sed -n 's/^runbook: //p'; }
ready() { inside loopctl health --wait 30 >/dev/null 2>&1; }

version=$(node -p "require('./package.json').version")
architecture=$(dpkg --print-architecture)
package() { echo "build/loopkeep_${1}_$architecture.deb"; }

build_packages() {
  scripts/device/build-deb >/dev/null && scripts/device/build-deb "$version" "$scratch/again.deb" >/dev/null &&
    scripts/device/build-deb "$version+next" >/dev/null
  is 0 $? 'the packages build'
  is 0 "$(status_of cmp "$(package "$version")" "$scratch/again.deb")" 'the same input gives the same bytes'
  is '' "$(dpkg-deb --contents "$(package "$version")" | grep -v ' root/root ')" 'everything in it belongs to root'
  is 2 "$(dpkg-deb --contents "$(package "$version")" | grep -c '\.node$')" 'it holds native code for this architecture alone'
}

staged_install() {
  local stage=$scratch/stage
  DESTDIR=$stage PREFIX=/usr/local scripts/device/install.sh >/dev/null
  is 0 $? 'make install lays everything below DESTDIR and PREFIX'
  is '' "$(grep -rlE '/usr/(lib|share/doc)/loopkeep' "$stage/usr/local/lib/systemd" "$stage/usr/local/bin" || true)" 'nothing there points at another prefix'
  DESTDIR=$stage PREFIX=/usr/local scripts/device/uninstall.sh >/dev/null
  is "$stage/etc/loopkeep/loopd.toml $stage/etc/loopkeep/memoryd.toml" "$(find "$stage" ! -type d | sort | xargs)" 'make uninstall leaves the settings and nothing else'
}

install_first() {
  is 0 "$(status_of inside dpkg --install "/source/$(package "$version")")" 'the package installs'
  is 0 "$(status_of ready)" 'both daemons are ready'
  is '' "$(inside systemctl --failed --no-legend)" 'no unit failed'
}

sockets_first() {
  inside systemctl stop memoryd.service loopd.service 2>/dev/null
  is 'inactive inactive' "$(inside systemctl is-active memoryd.service loopd.service | xargs)" 'both daemons are stopped'
  is 'active active active active' "$(inside systemctl is-active loopkeep-{loop,gate,ops,channel}.socket | xargs)" 'their sockets listen'
  is undefined "$(ask $run/ops-memory/memory.sock status | field error)" 'a client that comes before the daemon is served'
  is 0 "$(status_of inside loopctl prompt 'What time is it?')" 'and so is one of the agent'
}

on_device() {
  local report
  report=$(inside /source/scripts/device/verify-device.sh)
  local status=$?
  grep -v '^ok' <<<"$report"
  passed=$((passed + $(grep -c '^ok ' <<<"$report")))
  failed=$((failed + $(grep -c '^FAIL' <<<"$report")))
  is 0 $status 'verify-device passes'
}

# Everything that was acknowledged under SIGKILL is there, once.
nothing_lost() {
  inside systemctl reset-failed memoryd.service 2>/dev/null
  local worker i stored
  load $run/ops-memory/memory.sock 6 4 record/put \
    '{"kind":"ledger","run_id":"kill","request_id":"kill-%N","record":{"run_id":"kill","iteration":%N,"kind":"run_started","detail":"%N","created_ms":1}}' \
    >"$scratch/kill.json" &
  worker=$!
  sleep 1
  for i in 1 2 3 4; do
    inside systemctl kill --signal KILL --kill-who main memoryd.service
    sleep 1
  done
  wait $worker
  stored=$(inside loopctl record list ledger kill --json --limit 1000 >"$scratch/page.json"; pages)
  is '0 0' "$(field refused <"$scratch/kill.json") $(field lost <"$scratch/kill.json")" 'records written under kill -9: none refused, none lost'
  is "$(field answered <"$scratch/kill.json")" "$stored" 'and each is there exactly once'
  inside systemctl reset-failed memoryd.service 2>/dev/null
}

# Counts the records of the run over all pages, each iteration once.
pages() {
  local cursor
  : >"$scratch/iterations"
  while :; do
    node -e 'const { records, next } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
      for (const { record } of records) console.log(record.iteration);
      if (next) console.error(next);' <"$scratch/page.json" >>"$scratch/iterations" 2>"$scratch/next"
    cursor=$(cat "$scratch/next")
    [ -n "$cursor" ] || break
    inside loopctl record list ledger kill --json --limit 1000 --cursor "$cursor" >"$scratch/page.json"
  done
  if [ "$(wc -l <"$scratch/iterations")" = "$(sort -u "$scratch/iterations" | wc -l)" ]; then wc -l <"$scratch/iterations"; else echo twice; fi
}

# Half lines of eight megabytes on a hundred connections are more than MemoryMax.
memory_limit() {
  if ! inside test -e /sys/fs/cgroup/memory -o -e /sys/fs/cgroup/system.slice/memory.max; then
    echo 'skip  the memory limit: no memory controller here'
    return
  fi
  local before
  before=$(show MainPID memoryd.service)
  inside node -e 'const net = require("node:net"); const half = Buffer.alloc(8_000_000, 120);
    for (let n = 0; n < 100; n += 1) net.connect(process.argv[1]).on("connect", function () { this.write(half); }).on("error", () => {});
    setTimeout(() => process.exit(), 6000);' $run/ops-memory/memory.sock
  is 0 "$(status_of ready)" 'past its memory limit memoryd is killed and serves again'
  is yes "$([ "$before" != "$(show MainPID memoryd.service)" ] && echo yes)" 'it is another process'
  inside systemctl reset-failed memoryd.service 2>/dev/null
}

damaged_store() {
  local restarts records=$data/memory/store/records
  inside systemctl stop memoryd.service 2>/dev/null
  inside cp --archive "$records" /root/records
  inside bash -c "for file in $records/MANIFEST-*; do printf 'garbage' | dd of=\$file bs=1 seek=20 conv=notrunc status=none; done"
  inside systemctl start memoryd.service
  restarts=$(show NRestarts memoryd.service)
  local record='{"run_id":"damage","iteration":1,"kind":"run_started","detail":"","created_ms":1}'
  is store-damaged "$(inside bash -c "echo '$record' | loopctl record put ledger 2>&1 >/dev/null" | sed -n 's/^runbook: //p')" 'a damaged store is named'
  is 0 "$(status_of inside loopctl block)" 'the block is answered beside it'
  is 0 "$(status_of inside loopctl prompt 'What time is it?')" 'new sessions start beside it'
  is "active $restarts" "$(inside systemctl is-active memoryd.service) $(show NRestarts memoryd.service)" 'memoryd stays up and does not restart'
  is 0 "$(status_of inside bash -c "journalctl --quiet --no-pager --catalog RUNBOOK=store-damaged | grep -q 'loopctl explain store-damaged'")" 'journalctl -x explains it'
  inside systemctl stop memoryd.service 2>/dev/null
  inside bash -c "rm -r $records && cp --archive /root/records $records"
  inside systemctl start memoryd.service
  is 0 "$(status_of inside loopctl probe)" 'with the store put back it works again'
}

# A backup while it runs; then everything as it was at that moment.
backup_and_restore() {
  local folder=/var/backups/loopkeep before
  inside loopctl memory add --file memory 'Known at the backup.' >/dev/null
  before=$(inside loopctl block)
  is 0 "$(status_of inside loopctl backup $folder)" 'a backup is made while everything runs'
  is 0 "$(status_of inside loopctl backup verify $folder)" 'every piece of it reads'
  inside loopctl memory add --file memory 'Known only later.' >/dev/null
  is 75 "$(status_of inside loopctl restore $folder --yes)" 'a restore beside running daemons is refused'
  inside systemctl stop loopkeep.target
  is 0 "$(status_of inside loopctl restore $folder --yes)" 'with both stopped it restores'
  inside systemctl start loopkeep.target
  is 0 "$(status_of ready)" 'both daemons are ready on what came back'
  is "$before" "$(inside loopctl block)" 'the block is what it was at the backup'
  is '' "$(inside find $data/memory ! -user memoryd)$(inside find $data/sessions ! -user loopd)" 'everything that came back belongs to its daemon'
  is 0 "$(status_of inside loopctl verify)" 'every record that came back reads'
}

# to VERSION WHAT: another package under load
to() {
  local worker
  load $run/ops-memory/memory.sock 8 4 block '{}' >"$scratch/memoryd.json" &
  worker=$!
  load $run/channel/loop.sock 8 2 initialize '{"protocolVersion":1,"clientCapabilities":{}}' >"$scratch/loopd.json" &
  sleep 1
  is 0 "$(status_of inside dpkg --install "/source/$(package "$1")")" "$2: the package installs"
  wait $worker %% 2>/dev/null
  wait
  local daemon
  for daemon in memoryd loopd; do
    is '0 0' "$(field refused <"$scratch/$daemon.json") $(field lost <"$scratch/$daemon.json")" "$2 under load, $daemon: none refused, none lost after one retry"
    echo "      slowest of $(field sent <"$scratch/$daemon.json"): $(field slowest_ms <"$scratch/$daemon.json") ms"
  done
  is 0 "$(status_of ready)" "$2: both daemons are ready"
}

upgrade_and_back() {
  inside loopctl memory add --file memory 'Survives an upgrade.' >/dev/null
  to "$version+next" upgrade
  to "$version" rollback
  is 0 "$(status_of inside bash -c "loopctl block | grep -q 'Survives an upgrade.'")" 'what was remembered is still there'
}

remove_it() {
  is 0 "$(status_of inside dpkg --purge loopkeep)" 'the package can be purged'
  is '' "$(inside bash -c 'ls -d /etc/loopkeep /run/loopkeep /usr/lib/loopkeep /usr/bin/{loopctl,memoryd,loopd} /usr/lib/systemd/system/{memoryd,loopd,loopkeep}* 2>/dev/null')" 'nothing of it is left but what the agent remembers'
  is yes "$(inside bash -c "grep -q 'Survives an upgrade.' $data/memory/curated/memory.md && ls $data/sessions | grep -q jsonl && echo yes")" 'memories and sessions are kept'
  is '' "$(inside systemctl --failed --no-legend)" 'no failed unit is left'
}

build_packages
staged_install
$labsd up || { echo '0 passed, 1 failed'; exit 1; }
install_first
sockets_first
on_device
nothing_lost
memory_limit
damaged_store
backup_and_restore
upgrade_and_back
remove_it

echo "$passed passed, $failed failed in $(($(date +%s) - started_s)) s"
[ $failed = 0 ]
