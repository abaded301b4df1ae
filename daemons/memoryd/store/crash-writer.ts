/** For crash.gate.ts: writes records as fast as it can and says what was acknowledged, until it is killed. Usage: crash-writer.ts DIR SEED */
import { writeSync } from 'node:fs';
import { RecordStore } from './record-store.ts';
import { SeededRandom } from './seeded-random.ts';

const writers = 16;
const batchMax = 5;
const counterKey = 'counter';
const saidFd = 3;

const [dir, seed] = process.argv.slice(2) as [string, string];
const random = new SeededRandom(Number(seed));
const store = await RecordStore.open({ dir, durable: 'all', minFreeBytes: 0, reserveBytes: 0 });
if (store.state.kind !== 'ready') {
  say({ failed: store.state });
  process.exit(1);
}
let count = Number(store.get(counterKey)?.json ?? 0);
say({ opened: true });
await Promise.all(Array.from({ length: writers }, writeForever));

/** Straight into a pipe of its own, which blocks where stdout would say EAGAIN: what is said is out. */
function say(line: object): void {
  writeSync(saidFd, `${JSON.stringify(line)}\n`);
}

async function writeForever(): Promise<never> {
  for (;;) {
    // The size is in each record, so that half a batch shows.
    const size = 1 + random.below(batchMax);
    const batch = `${process.pid}.${(count += 1)}`;
    const seqs = Array.from({ length: size }, () => store.nextSequence());
    const json = JSON.stringify({ batch, size, text: 'x'.repeat(random.below(800)) });
    const puts = seqs.map(
      (seq) => ({ type: 'put', key: `ep/${String(seq).padStart(20, '0')}`, json, seq }) as const,
    );
    const counted = count;
    await store.commit([...puts, { type: 'put', key: counterKey, json: String(counted) }]);
    say({ batch, seqs, counted });
  }
}
