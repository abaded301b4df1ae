# For the faults: where things lie on a device, and how to change them. Sourced inside the lab, as root.
set -euo pipefail

memory=/var/lib/loopkeep/memory/curated
store=/var/lib/loopkeep/memory/store
sessions=/var/lib/loopkeep/sessions
settings=/etc/loopkeep
source=/source/scripts/runbook
model_port=8099

# set_value DAEMON SECTION LINE: one setting, below the header of its section
set_value() { sed -i "/^\[$2\]\$/a $3" "$settings/$1.toml"; }

# session TEXT: a new session with one turn; prints its id
session() { loopctl prompt --json "$1" | sed -n 's/.*"session":"\([^"]*\)".*/\1/p'; }

# fails_with CODE COMMAND...: the command fails and names this code
fails_with() {
  local said
  if said=$("${@:2}" 2>&1); then
    echo "it did not fail: ${*:2}" >&2
    return 1
  fi
  grep -q "runbook: $1" <<<"$said" || { echo "$said" >&2; return 1; }
}

# put_record OPTIONS...: one record of the ledger
put_record() {
  echo '{"run_id":"runbook","iteration":1,"kind":"run_started","detail":"","created_ms":1}' | loopctl record put ledger "$@"
}

# newest: the id of the session that was written last
newest() { find $sessions -name '*.jsonl' -printf '%T@ %f\n' | sort -n | tail -n 1 | sed 's/.* //; s/\.jsonl$//'; }

restart() {
  systemctl reset-failed "$1.service" 2>/dev/null || true
  systemctl restart "$1.service"
  loopctl health --wait 30 >/dev/null
}

# in_background UNIT COMMAND...: runs on after this script; the test ends it
in_background() { systemd-run --quiet --unit "runbook-$1" -- "${@:2}"; }

pid_of() { systemctl show --value --property MainPID "runbook-$1"; }

# model MODE: a model server that misbehaves until it is started anew
model() {
  echo "$1" >/run/runbook-model
  cat >/run/systemd/system/model-server.service <<UNIT
[Service]
ExecStart=/usr/lib/loopkeep/node $source/model.mjs $model_port /run/runbook-model
UNIT
  set_value loopd model "url = \"http://127.0.0.1:$model_port\""
  systemctl daemon-reload
}

# small_disk FOLDER MEBIBYTES: the folder on a file system of its own, with all that is in it
small_disk() {
  local copy
  copy=$(mktemp -d /root/runbook-XXXX)
  cp -a "$1/." "$copy"
  mount -t tmpfs -o "size=$2m,mode=$(stat -c %a "$1"),uid=$(stat -c %u "$1"),gid=$(stat -c %g "$1")" tmpfs "$1"
  cp -a "$copy/." "$1"
  rm -r "$copy"
}
