/**
 * For the gate: a process of its own, to be killed or to be the person at the editor.
 *
 *   writing-process.ts add HOME         adds entries without end, and prints each text when it was acknowledged
 *   writing-process.ts edit FILE EVERY  saves the file every EVERY ms as editors do, and prints each line it added
 */
import { readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RecordStore } from '../../store/record-store.ts';
import { RequestLedger } from '../../store/requests.ts';
import { CuratedMemory } from '../curated-memory.ts';

const [mode, path = '', every = '100'] = process.argv.slice(2);

/** Synchronous, so that what was printed was printed whatever happens next. */
function tell(line: string): void {
  writeSync(1, `${line}\n`);
}

async function addWithoutEnd(home: string): Promise<never> {
  const store = await RecordStore.open({
    dir: join(home, 'store', 'records'),
    durable: 'all',
    minFreeBytes: 0,
    reserveBytes: 0,
  });
  const memory = await CuratedMemory.open({
    dir: join(home, 'memory'),
    store,
    requests: new RequestLedger(store, Date.now),
    limits: { memory: 1_000_000, user: 1000 },
    review: false,
    nowMs: Date.now,
  });
  tell('ready');
  for (;;) {
    const text = `entry ${process.pid} ${process.hrtime.bigint()}`;
    await memory.apply({ action: 'add', file: 'memory', text }, { role: 'loop', method: 'memory' });
    tell(text);
  }
}

/** In turns: over the file, in place of it, with what stood there moved away first. */
async function editWithoutEnd(file: string, everyMs: number): Promise<never> {
  tell('ready');
  for (let saves = 0; ; saves += 1) {
    const line = `by hand ${saves}`;
    const text = `${readFileSync(file, 'utf8')}- ${line}\n`;
    if (saves % 2 === 0) writeFileSync(file, text);
    else {
      writeFileSync(`${file}~new`, text);
      renameSync(`${file}~new`, file);
    }
    tell(line);
    await sleep(everyMs);
  }
}

if (mode === 'add') await addWithoutEnd(path);
else if (mode === 'edit') await editWithoutEnd(path, Number(every));
else throw new Error(`no such mode: ${mode}`);
