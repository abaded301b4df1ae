# What the project measures of itself; each prints what it compared with, in the same run.
.PHONY: bench bench-cost bench-peers bench-turn bench-recall bench-scale

bench-turn: build ## what loopd adds to a turn, beside the same work done by a bare script
	@node --import tsx scripts/bench/turn.ts $(TURNS)

bench: bench-peers build ## speed of socket, puts, lists and start, beside real peers
	@node --import tsx scripts/bench/speed.ts $(ROUNDS)

bench-cost: build ## processor time an operation and memory at rest of memoryd; holds on a busy machine
	@node --import tsx scripts/bench/cost.ts $(COUNT)

# better-sqlite3 and MiniSearch: only the benches need them.
bench-peers: scripts/bench/node_modules/.installed

scripts/bench/node_modules/.installed: scripts/bench/package.json scripts/bench/package-lock.json
	npm ci --prefix scripts/bench --no-audit --no-fund --loglevel=error
	@touch $@

bench-recall: bench-peers build ## recall beside FTS5, MiniSearch and grep; DATA=FOLDER of LoCoMo files or a LongMemEval file
	@node --import tsx scripts/bench/recall.ts "$(DATA)"

bench-scale: bench-peers build ## recall at TURNS=100000 or 1000000 beside FTS5
	@node --import tsx scripts/bench/recall-scale.ts --turns $(or $(TURNS),100000)
