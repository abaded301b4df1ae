#!/bin/bash
# install.sh: lays the built programs and everything that ships with them; starts nothing, changes no user.
#
#   DESTDIR=  staged below this folder (for packages)
#   PREFIX=   /usr/local unless said otherwise; settings go to /etc in any case
#   NODE=     the Node that runs the daemons; `none` where a package finds it on the device
set -euo pipefail

cd "$(dirname "$(readlink -f "$0")")/../.."
destdir=${DESTDIR:-}
prefix=${PREFIX:-/usr/local}
lib=$prefix/lib/loopkeep
doc=$prefix/share/doc/loopkeep
node=${NODE:-$(command -v node || true)}

[ -d dist ] || { echo 'install: dist/ is missing: make build' >&2; exit 1; }
if [ "$node" != none ]; then
  node=$(readlink -f "$node")
  "$node" scripts/device/node-version.mjs || exit 1
  case $node in /home/* | /root/*)
    echo "install: the units cannot see home folders, so they cannot start $node; give NODE= another one" >&2
    ;;
  esac
fi

# put MODE FILE TARGET
put() { install -D -m "$1" "$2" "$destdir$3"; }

# What names a folder of the installation names the one of this prefix.
relocate() { sed -e "s#/usr/lib/loopkeep#$lib#g" -e "s#/usr/share/doc/loopkeep#$doc#g" "$1"; }

# put_text MODE SOURCE TARGET
put_text() {
  install -d -m 0755 "$destdir$(dirname "$3")"
  relocate "$2" >"$destdir$3"
  chmod "$1" "$destdir$3"
}

# The programs, and beside them the packages with native code.
while read -r file; do
  put 0644 "dist/$file" "$lib/$file"
done < <(cd dist && find . -path './config/*.d' -prune -o -path ./config/systemd -prune -o -path ./config/journal -prune -o -type f ! -name '*.map' -printf '%P\n' | LC_ALL=C sort)
node --import tsx scripts/device/native.ts "$destdir$lib/node_modules"
for program in daemons/memoryd daemons/loopd scripts/loopctl; do
  name=${program##*/}
  install -d -m 0755 "$destdir$prefix/bin"
  printf '#!/bin/sh\nexec %s/node %s/%s/main.js "$@"\n' "$lib" "$lib" "$program" >"$destdir$prefix/bin/$name"
  chmod 0755 "$destdir$prefix/bin/$name"
done
[ "$node" = none ] || ln -sfn "$node" "$destdir$lib/node"

# The acceptance test of a device goes with it.
put 0755 scripts/device/verify-device.sh "$lib/device/verify-device.sh"
for tool in ask load; do put 0644 scripts/device/$tool.mjs "$lib/device/$tool.mjs"; done

for unit in config/systemd/*; do put_text 0644 "$unit" "$prefix/lib/systemd/system/${unit##*/}"; done
put_text 0644 config/sysusers.d/loopkeep.conf "$prefix/lib/sysusers.d/loopkeep.conf"
put_text 0644 config/tmpfiles.d/loopkeep.conf "$prefix/lib/tmpfiles.d/loopkeep.conf"
put_text 0644 config/journal/loopkeep.catalog "$prefix/lib/systemd/catalog/loopkeep.catalog"

for entry in runbook/*.md; do put_text 0644 "$entry" "$doc/$entry"; done
put 0644 LICENSE "$doc/copyright"
for page in README.md CHANGELOG.md; do [ ! -f $page ] || put 0644 $page "$doc/$page"; done

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
node --import tsx scripts/device/man.ts "$pages"
while read -r page; do
  gzip -9 -n "$pages/$page"
  put 0644 "$pages/$page.gz" "$prefix/share/man/$page.gz"
done < <(cd "$pages" && find . -type f -printf '%P\n' | LC_ALL=C sort)

# shell FILE: what the shell completes by
completion() {
  node dist/scripts/loopctl/main.js completion "$1" >"$pages/completion"
  put 0644 "$pages/completion" "$prefix/share/$2"
}
completion bash bash-completion/completions/loopctl
completion zsh zsh/site-functions/_loopctl
completion fish fish/vendor_completions.d/loopctl.fish

# Settings that somebody changed stay as they are.
for file in memoryd loopd; do
  [ -e "$destdir/etc/loopkeep/$file.toml" ] || put 0644 "config/$file.toml" "/etc/loopkeep/$file.toml"
done

[ -n "$destdir" ] || cat <<NEXT
installed below $prefix. To run it as services:
  systemd-sysusers loopkeep.conf && systemd-tmpfiles --create loopkeep.conf && journalctl --update-catalog
  systemctl daemon-reload && systemctl enable --now loopkeep.target loopkeep-{loop,gate,ops,channel}.socket
  usermod --append --groups loopkeep-channel,loopkeep-ops YOU
NEXT
