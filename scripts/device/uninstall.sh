#!/bin/bash
# uninstall.sh: takes away what install.sh laid with the same DESTDIR and PREFIX. Settings and memories stay.
set -euo pipefail

destdir=${DESTDIR:-}
prefix=${PREFIX:-/usr/local}
root=$destdir$prefix

if [ -z "$destdir" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now loopkeep.target loopkeep-{loop,gate,ops,channel}.socket memoryd.service loopd.service 2>/dev/null || true
fi
rm -rf "$root/lib/loopkeep" "$root/share/doc/loopkeep"
rm -f "$root"/bin/{loopctl,memoryd,loopd} \
  "$root"/lib/systemd/system/{loopkeep-{loop,gate,ops,channel}.socket,memoryd.service,loopd.service,loopkeep.target} \
  "$root"/lib/{sysusers.d,tmpfiles.d}/loopkeep.conf "$root/lib/systemd/catalog/loopkeep.catalog" \
  "$root"/share/man/{man1/loopctl.1,man7/loopkeep.7,man8/memoryd.8,man8/loopd.8}.gz \
  "$root/share/bash-completion/completions/loopctl" "$root/share/zsh/site-functions/_loopctl" \
  "$root/share/fish/vendor_completions.d/loopctl.fish"
if [ -z "$destdir" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
echo 'uninstalled; kept: /etc/loopkeep, /var/lib/loopkeep, /var/backups/loopkeep'
