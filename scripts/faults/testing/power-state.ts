/** What may lie on a disk after a power cut: unsynced bytes lost, torn or out of order, unsynced names there or not. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import type { DiskOperation } from './disk-recorder.ts';

/** ordered: a journal keeps the order of names. strict: nothing is promised that no sync asked for. */
export type DiskModel = 'ordered' | 'strict';

const sectorBytes = 512;

interface Filed extends DiskOperation {
  /** Which file it is, whatever its name was then. */
  readonly file: number;
}

export class Recording {
  readonly #operations: readonly Filed[];
  readonly #root: string;

  constructor(operations: readonly DiskOperation[], root: string) {
    this.#root = root;
    this.#operations = filed(operations.filter(({ kind }) => kind !== 'A'));
  }

  /** Lays the disk of a cut just after operation `at` into `target`. */
  lay(
    at: number,
    { model, random, target }: { model: DiskModel; random: SeededRandom; target: string },
  ): void {
    const before = this.#operations.filter(({ number }) => number <= at);
    const names = namesOf(durableNames(before, { model, random }));
    for (const [path, file] of names) {
      const place = path.replace(this.#root, target);
      if (file === folder) {
        mkdirSync(place, { recursive: true, mode: 0o700 });
        continue;
      }
      mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
      writeFileSync(
        place,
        contentOf(
          before.filter((one) => one.file === file),
          { model, random },
        ),
        {
          mode: 0o600,
        },
      );
    }
  }
}

const folder = -1;
const none = 0;

function filed(operations: readonly DiskOperation[]): Filed[] {
  let files = none;
  let names = new Map<string, number>();
  return operations.map((operation) => {
    const { kind, path } = operation;
    const isNew = kind === 'C' && (operation.extra === 'w' || !names.has(path));
    if (isNew) files += 1;
    const file = isNew ? files : kind === 'M' ? folder : (names.get(path) ?? none);
    const one = { ...operation, file };
    names = renamed(names, one);
    return one;
  });
}

/** The names after one more operation. */
function renamed(names: Map<string, number>, { kind, path, extra, file }: Filed): Map<string, number> {
  if (kind === 'C' || kind === 'M') names.set(path, file);
  else if (kind === 'U') names.delete(path);
  else if (kind === 'R') {
    const moved = [...names].filter(([name]) => name === path || name.startsWith(`${path}/`));
    for (const [name, known] of moved) {
      names.delete(name);
      names.set(extra + name.slice(path.length), known);
    }
  }
  return names;
}

function namesOf(operations: readonly Filed[]): Map<string, number> {
  let names = new Map<string, number>();
  for (const operation of operations) names = renamed(names, operation);
  return names;
}

function durableNames(
  before: readonly Filed[],
  { model, random }: { model: DiskModel; random: SeededRandom },
): Filed[] {
  const changes = before.filter(({ kind }) => 'CRUM'.includes(kind));
  const syncs = before.filter(({ kind }) => kind === 'S');
  if (model === 'ordered') {
    // Whatever a journal wrote with the last sync, and some of what came after.
    const last = syncs.at(-1)?.number ?? 0;
    const rest = changes.filter(({ number }) => number > last);
    const kept = random.below(rest.length + 1);
    return [...changes.filter(({ number }) => number <= last), ...rest.slice(0, kept)];
  }
  return changes.filter(({ number, path, kind, extra }) => {
    const folders = [dirname(kind === 'R' ? extra : path)];
    const isSynced = syncs.some((sync) => sync.number > number && folders.includes(sync.path));
    return isSynced || random.below(2) === 0;
  });
}

/** The bytes of a file: what was synced for sure, of the rest whatever the disk happened to write. */
function contentOf(
  operations: readonly Filed[],
  { model, random }: { model: DiskModel; random: SeededRandom },
): Buffer {
  const lastSync = operations.findLast(({ kind }) => kind === 'S')?.number ?? 0;
  const writes = operations.filter(({ kind }) => kind === 'W' || kind === 'T');
  const content = new Content(Math.max(0, ...writes.map(({ offset, data }) => offset + data.length)));
  const unsure = writes.filter(({ number }) => number >= lastSync);
  for (const write of writes) if (write.number < lastSync) content.apply(write, write.data.length);
  const kept = random.below(unsure.length + 1);
  for (const [at, write] of unsure.entries()) {
    if (model === 'strict') content.tear(write, random);
    else if (at < kept) content.apply(write, write.data.length);
    else if (at === kept) content.apply(write, random.below(write.data.length + 1));
  }
  return content.bytes;
}

class Content {
  readonly #buffer: Buffer;
  #size = 0;

  constructor(sizeMax: number) {
    this.#buffer = Buffer.alloc(sizeMax);
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  apply({ kind, offset, data }: Filed, count: number): void {
    if (kind === 'T') return this.#cut(offset);
    data.copy(this.#buffer, offset, 0, count);
    this.#size = Math.max(this.#size, offset + count);
  }

  /** Sector by sector: written, or as it was before, which is zeros where nothing was. */
  tear({ kind, offset, data }: Filed, random: SeededRandom): void {
    const count = random.below(data.length + 1);
    if (kind === 'T') return random.below(2) === 0 ? undefined : this.#cut(offset);
    for (let at = 0; at < count;) {
      const step = Math.min(count - at, sectorBytes - ((offset + at) % sectorBytes));
      if (random.below(10) >= 3) data.copy(this.#buffer, offset + at, at, at + step);
      at += step;
    }
    this.#size = Math.max(this.#size, offset + count);
  }

  #cut(size: number): void {
    this.#buffer.fill(0, size);
    this.#size = size;
  }
}
