# Faults, crashes and hostile input. Included by the Makefile.

.PHONY: soak

# One suite after another, each alone: figures of memory and time mean nothing beside another suite.
soak: build ## the long run of every suite that has one: hours; SEED=… repeats one
	@LOOPKEEP_DIST=1 SOAK=1 VERBOSE=1 node --import tsx --test --test-concurrency=1 \
		--test-reporter=./scripts/gate/reporter.mjs $(sort $(shell grep -lr --include='*.gate.ts' --exclude-dir=node_modules SOAK daemons scripts))
