. /source/scripts/runbook/device.sh

# A byte that no UTF-8 has, by a careless editor.
loopctl memory add --file memory 'The boiler is from 2019.' >/dev/null
printf -- '- broken \xff byte\n' >>$memory/memory.md
