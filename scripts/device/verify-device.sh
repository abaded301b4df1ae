#!/bin/bash
# verify-device.sh: the acceptance test of a device on which loopkeep is installed as services. As root.
# It kills, stops and hangs the daemons; it puts back whatever it changes. Ends with 'verify-device: ok'.
set -uo pipefail

here=$(dirname "$(readlink -f "$0")")
ask=$here/ask.mjs
load=$here/load.mjs
run=/run/loopkeep
data=/var/lib/loopkeep
dropin=/run/systemd/system/memoryd.service.d/verify-device.conf
scratch=$(mktemp -d)
session=
passed=0
failed=0
figures=

[ "$(id -u)" = 0 ] || { echo 'verify-device: run it as root' >&2; exit 77; }
[ -d /run/systemd/system ] || { echo 'verify-device: no systemd runs here' >&2; exit 69; }
node=$(sed -n 's#^exec \(.*/node\) .*#\1#p' "$(command -v loopctl)" 2>/dev/null)
[ -x "$node" ] || { echo 'verify-device: loopkeep is not installed' >&2; exit 69; }

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

# at_most LIMIT GOT WHAT
at_most() {
  if [ "$2" -le "$1" ]; then is x x "$3: $2 (at most $1)"; else is "at most $1" "$2" "$3"; fi
}

field() { "$node" -e 'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => {
  let value; try { value = JSON.parse(s); } catch { value = {}; }
  for (const key of process.argv[1].split(".")) value = value?.[key];
  console.log(typeof value === "object" ? JSON.stringify(value) : String(value)); })' "$1"; }

show() { systemctl show --value --property "$1" "$2"; }
ms_since() { echo $((($(date +%s%N) - $1) / 1000000)); }
wait_ready() { loopctl health --wait 30 >/dev/null 2>&1; }

put_back() {
  [ ! -e "$dropin" ] || { rm -f "$dropin"; rmdir "${dropin%/*}" 2>/dev/null; }
  [ ! -e "$scratch/memoryd.toml" ] || cp --preserve=all "$scratch/memoryd.toml" /etc/loopkeep/memoryd.toml
  systemctl daemon-reload
  systemctl reset-failed memoryd.service loopd.service 'loopkeep-*.socket' 2>/dev/null
  systemctl start loopkeep.target
  wait_ready
  [ -z "$session" ] || loopctl delete "$session" >/dev/null 2>&1
  rm -rf "$scratch"
}
trap put_back EXIT

units='memoryd.service loopd.service loopkeep.target loopkeep-loop.socket loopkeep-gate.socket loopkeep-ops.socket loopkeep-channel.socket'

check_installation() {
  if dpkg-query --show loopkeep >/dev/null 2>&1; then
    is '' "$(dpkg --verify loopkeep | grep -v ' c ')" 'the files are those of the package'
  fi
  local paths unit
  for unit in $units; do paths="${paths:-} $(show FragmentPath "$unit")"; done
  # shellcheck disable=SC2086
  is '' "$(systemd-analyze verify --man=no $paths 2>&1)" 'systemd has nothing to say about the units'
  systemd-analyze security --no-pager --threshold=3 memoryd.service >/dev/null 2>&1
  is 0 $? 'the exposure of memoryd is at most 0.3'
  systemd-analyze security --no-pager --threshold=12 loopd.service >/dev/null 2>&1
  is 0 $? 'the exposure of loopd is at most 1.2'
  for unit in $units; do is active "$(systemctl is-active "$unit")" "$unit is active"; done
}

check_modes() {
  while read -r path mode; do
    is "$mode" "$(stat -c '%a %U:%G' "$path" 2>&1)" "$path"
  done <<MODES
$run/loop-memory 750 root:loopkeep-loop
$run/gate-memory 750 root:loopkeep-gate
$run/ops-memory 750 root:loopkeep-ops
$run/channel 750 root:loopkeep-channel
$run/loop-memory/memory.sock 660 root:loopkeep-loop
$run/gate-memory/memory.sock 660 root:loopkeep-gate
$run/ops-memory/memory.sock 660 root:loopkeep-ops
$run/channel/loop.sock 660 root:loopkeep-channel
$data/memory 700 memoryd:memoryd
$data/sessions 2750 loopd:loopkeep-sessions
/var/backups/loopkeep 700 memoryd:memoryd
/etc/loopkeep 755 root:root
MODES
  is '' "$(find "$data/memory" -type f -perm /077)" 'no file of the store is open to others'
  is '' "$(find "$data/sessions" -name '*.jsonl' ! -perm 640)" 'every session log is for loopd, and for memoryd to read'
}

# as WHO COMMAND...: somebody of that kind, without any account being made
as() {
  local who=$1 groups=
  shift
  case $who in
  memoryd | loopd) runuser -u "$who" -- "$@" && return || return ;;
  person) groups=loopkeep-channel ;;
  gatekeeper) groups=loopkeep-gate ;;
  operator) groups=loopkeep-ops,loopkeep-channel ;;
  esac
  if [ -n "$groups" ]; then
    setpriv --reuid nobody --regid nogroup --groups "$groups" -- "$@"
  else
    setpriv --reuid nobody --regid nogroup --clear-groups -- "$@"
  fi
}

may_connect() { as "$1" "$node" -e 'require("node:net").connect(process.argv[1])
  .on("connect", () => { console.log("yes"); process.exit(); }).on("error", ({ code }) => console.log(code))' "$2"; }

may() { if as "$1" test "$2" "$3" 2>/dev/null; then echo yes; else echo no; fi; }

check_access() {
  local who socket allowed log=$data/sessions/$session.jsonl
  while read -r socket allowed; do
    for who in memoryd loopd gatekeeper operator person outsider; do
      case " $allowed " in
      *" $who "*) is yes "$(may_connect $who "$run/$socket")" "$who may use $socket" ;;
      *) is EACCES "$(may_connect $who "$run/$socket")" "$who may not use $socket" ;;
      esac
    done
  done <<SOCKETS
loop-memory/memory.sock loopd
gate-memory/memory.sock gatekeeper
ops-memory/memory.sock operator
channel/loop.sock person operator
SOCKETS
  for who in loopd operator person outsider; do
    is no "$(may $who -r "$data/memory/store")" "$who cannot read the store"
    is no "$(may $who -r "$data/memory")" "$who cannot read the curated files"
  done
  is 'yes yes no no' "$(echo $(may memoryd -r "$log") $(may loopd -w "$log") $(may memoryd -w "$log") $(may operator -r "$log"))" \
    'memoryd reads a session log, loopd writes it, nobody else does either'
  for who in memoryd loopd person; do
    is no "$(may $who -w /etc/loopkeep/memoryd.toml)" "$who cannot change the settings"
  done
}

check_work() {
  is 0 "$(loopctl probe >/dev/null 2>&1; echo $?)" 'a write, its indexing and its recall work'
  local reply
  reply=$(loopctl prompt --json 'What time is it?' 2>&1)
  session=$(field session <<<"$reply")
  [ "$session" != undefined ] || session=
  is yes "$([ -n "$session" ] && echo yes || echo "$reply")" 'a new session answers'
}

# killed UNIT SOCKET METHOD PARAMS: four times SIGKILL under four workers
check_kill() {
  local unit=$1 socket=$2 method=$3 params=$4 i started worst=0 took
  systemctl reset-failed "$unit" 2>/dev/null
  "$node" "$load" "$socket" 8 4 "$method" "$params" >"$scratch/load.json" &
  local worker=$!
  sleep 1
  for i in 1 2 3 4; do
    kill -9 "$(show MainPID "$unit")"
    started=$(date +%s%N)
    until "$node" "$ask" "$socket" "$method" "${params//%N/kill-$i}" | grep -q '"result"'; do :; done
    took=$(ms_since "$started")
    [ "$took" -le $worst ] || worst=$took
    sleep 0.5
  done
  wait $worker
  is 0 "$(field refused <"$scratch/load.json")" "$unit, kill -9 four times under load: no connection refused"
  is 0 "$(field lost <"$scratch/load.json")" "$unit, kill -9 four times under load: no request lost after one retry"
  at_most 2000 $worst "$unit answers again after kill -9, ms"
  figures="$figures, $unit back after $worst ms and $(field answered <"$scratch/load.json") answers"
  systemctl reset-failed "$unit" 2>/dev/null
}

check_memory_down() {
  systemctl stop memoryd.service loopkeep-{loop,gate,ops}.socket
  is 0 "$(loopctl prompt --session "$session" 'What time is it?' >/dev/null 2>&1; echo $?)" 'without memoryd a session goes on'
  is memory-unavailable "$(loopctl prompt 'What time is it?' 2>&1 | sed -n 's/^runbook: //p')" 'without memoryd a new one names its runbook entry'
  is 0 "$(loopctl explain memory-unavailable | grep -q 'systemctl start loopkeep.target'; echo $?)" 'the entry can be read, and says what to type'
  systemctl start loopkeep.target
  is 0 "$(wait_ready; echo $?)" 'memoryd is back'
}

check_watchdog() {
  mkdir -p "${dropin%/*}"
  printf '[Service]\nWatchdogSec=2s\n' >"$dropin"
  systemctl daemon-reload
  systemctl restart memoryd.service
  local pid started took
  pid=$(show MainPID memoryd.service)
  kill -STOP "$pid"
  started=$(date +%s%N)
  is 0 "$("$node" "$ask" $run/ops-memory/memory.sock status | grep -q '"result"'; echo $?)" 'a memoryd that hangs is found by the watchdog, and its next one answers'
  took=$(ms_since "$started")
  is yes "$([ "$(show MainPID memoryd.service)" != "$pid" ] && echo yes)" 'it is another process'
  at_most 8000 "$took" 'from the hang to the answer, ms'
  rm -f "$dropin"
  rmdir "${dropin%/*}" 2>/dev/null
  systemctl daemon-reload
  systemctl reset-failed memoryd.service 2>/dev/null
  systemctl restart memoryd.service
  figures="$figures, a hang mended in $took ms"
}

check_reload() {
  local pid since
  pid=$(show MainPID memoryd.service)
  since=$(date '+%Y-%m-%d %H:%M:%S')
  cp --preserve=all /etc/loopkeep/memoryd.toml "$scratch/memoryd.toml"
  echo 'no_such_setting = 1' >>/etc/loopkeep/memoryd.toml
  is 78 "$(memoryd check >/dev/null 2>&1; echo $?)" 'a wrong setting is found without a start'
  systemctl reload memoryd.service
  local step
  for step in $(seq 50); do
    journalctl --quiet --no-pager --since "$since" --unit memoryd --output cat RUNBOOK=config-invalid | grep -q . && break
    sleep 0.1
  done
  is "$pid 0" "$(show MainPID memoryd.service) $("$node" "$ask" $run/ops-memory/memory.sock status | grep -q '"result"'; echo $?)" 'a reload with a wrong file keeps the daemon and its settings'
  is 0 "$(journalctl --quiet --no-pager --catalog --since "$since" --unit memoryd RUNBOOK=config-invalid | grep -q 'What to do: loopctl explain config-invalid'; echo $?)" \
    'journalctl -x explains the failure'
  cp --preserve=all "$scratch/memoryd.toml" /etc/loopkeep/memoryd.toml
  rm "$scratch/memoryd.toml"
  systemctl reload memoryd.service
}

check_installation
check_work
check_modes
check_access
check_kill memoryd.service $run/ops-memory/memory.sock block '{}'
check_kill loopd.service $run/channel/loop.sock initialize '{"protocolVersion":1,"clientCapabilities":{}}'
check_memory_down
check_watchdog
check_reload

echo "$passed passed, $failed failed$figures"
[ $failed = 0 ] || { echo 'verify-device: failed'; exit 1; }
echo 'verify-device: ok'
