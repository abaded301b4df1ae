. /source/scripts/runbook/device.sh

id=$(session 'What time is it?')
loopctl prompt --session "$id" 'And the day?' >/dev/null
systemctl stop loopd.service 2>/dev/null
sed -i '4s/.*/garbage by a bad disk/' $sessions/$id.jsonl
chown loopd: $sessions/$id.jsonl
chgrp loopkeep-sessions $sessions/$id.jsonl
systemctl start loopd.service
echo "SESSION=$id"
