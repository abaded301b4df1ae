. /source/scripts/runbook/device.sh

loopctl memory add --file memory 'The boiler is from 2019.' >/dev/null
version=$(loopctl memory view --file memory --json | sed 's/.*"version":"\([0-9a-f]*\)".*/\1/')
loopctl memory add --file memory 'The boiler was replaced.' >/dev/null
fails_with memory-changed loopctl memory consolidate --file memory --expect "$version" <<<'["One."]'
