SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

bin := node_modules/.bin
# Unit tests lie beside what they test; *.gate.ts start real daemons and belong to the gate.
tests := $(shell find daemons shared scripts -name '*.test.ts' -not -path '*/node_modules/*' 2>/dev/null)
sources := $(shell find daemons shared scripts config -type f -not -path '*/node_modules/*' 2>/dev/null)

.PHONY: help setup check types lint style dead test build gate demo chat clean

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

setup: node_modules/.installed ## install what the project needs from the npm registry

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

check: setup types lint style dead test ## types, lint, format, dead code, unit tests: under a minute

types: setup
	@$(bin)/tsc -p . && echo 'types: ok'

lint: setup
	@$(bin)/oxlint --quiet --type-aware daemons shared scripts && echo 'lint: ok'

style: setup
	@$(bin)/prettier --check --log-level warn . && echo 'style: ok'

dead: setup
	@$(bin)/knip && echo 'dead code: ok'

test: setup ## the unit tests
	@test -n '$(tests)' || { echo 'test: found no test'; exit 1; }
	@node --import tsx scripts/gate/unit.ts $(tests)

build: setup ## compile the programs into dist/
	@node --import tsx scripts/build.ts

gate: setup ## everything, with real daemons and real processes: under fifteen minutes
	@node --import tsx scripts/gate/gate.ts

demo: build ## watch an agent remember; INPUT=FILE plays it on a conversation of yours
	@node --import tsx scripts/demo/demo.ts $(INPUT)

chat: build ## start both daemons in HOME_DIR (~/.loopkeep) and talk to the agent
	@node --import tsx scripts/demo/chat.ts $(HOME_DIR)

clean: ## remove what was built
	rm -rf dist build

-include scripts/device/device.mk
-include scripts/runbook/runbook.mk
-include scripts/bench/bench.mk
-include scripts/faults/faults.mk
