. /source/scripts/runbook/device.sh

id=$(session 'What time is it?')
systemctl stop memoryd.service loopkeep-{loop,gate,ops}.socket
loopctl prompt --session "$id" 'Remember that the boiler is from 2019.' >/dev/null 2>&1 || true
echo "SESSION=$id"
