# What the project measures of itself; each prints what it compared with, in the same run.
.PHONY: bench-turn

bench-turn: build ## what loopd adds to a turn, beside the same work done by a bare script
	@node --import tsx scripts/bench/turn.ts $(TURNS)
