# The runbook against table, source and a real systemd. Included by the Makefile.

.PHONY: runbook catalog

runbook: build ## every entry's commands against its fault, under a real systemd (root)
	@node --import tsx scripts/runbook/check.ts
	@node --import tsx scripts/runbook/try.ts $(ENTRY)

# What is made from the entries: the journal's catalogue and the index of the guide.
catalog: setup
	@node --import tsx scripts/runbook/check.ts --write
