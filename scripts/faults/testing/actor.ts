/** What every client of the storms is: it uses the sockets, logs what it asked and was told, and proves it afterwards. */
import assert from 'node:assert/strict';
import type { CuratedFile, ListedRecord, MemoryChange } from '../../../shared/protocol/replies.ts';
import { kindNames, type KindName } from '../../../shared/protocol/records.ts';
import type { Home } from '../../../shared/home.ts';
import { LineClient, type Answer } from './line-client.ts';

/** What is known of a write: nobody answered yet, it was acknowledged, or it was refused and may not be there. */
export type Fate = 'asked' | 'acknowledged' | 'refused';

export interface Actor {
  /** Uses the sockets until they go away, or until it has done enough for one life. */
  act(home: Home): Promise<void>;
  /** After a restart: sends again what was cut off, where the same request may be sent twice. */
  settle(view: View): Promise<void>;
  /** Everything in the log holds. @throws AssertionError */
  check(view: View): Promise<void>;
  readonly acknowledged: number;
}

/** Refusals that a client of a daemon which is killed or stopped may meet; each says that nothing was stored. */
const refusals = new Set(['stopping']);

/** @throws AssertionError where the refusal is one that nothing explains */
export function fateOf(answer: Answer, what: () => string): Fate {
  if ('isCut' in answer) return 'asked';
  if ('result' in answer) return 'acknowledged';
  const code = String(answer.error.data?.['code']);
  assert.ok(refusals.has(code), `${what()} was refused: ${JSON.stringify(answer.error)}`);
  return 'refused';
}

/** What memoryd holds at one moment after a restart; each part is read once, however many ask. */
export class View {
  readonly ops: LineClient;
  readonly home: Home;
  readonly #records = new Map<KindName, Promise<ListedRecord[]>>();
  #seqMax: Promise<number> | undefined;

  constructor(ops: LineClient, home: Home) {
    this.ops = ops;
    this.home = home;
  }

  records(kind: KindName): Promise<ListedRecord[]> {
    const known = this.#records.get(kind) ?? this.#list(kind);
    this.#records.set(kind, known);
    return known;
  }

  async #list(kind: KindName): Promise<ListedRecord[]> {
    const all: ListedRecord[] = [];
    let cursor: string | undefined;
    do {
      const params = { kind, limit: 1000, ...(cursor === undefined ? {} : { cursor }) };
      const page = (await this.ops.call('record/list', params)) as unknown as {
        records: ListedRecord[];
        damaged?: string[];
        next?: string;
      };
      assert.equal(page.damaged, undefined);
      all.push(...page.records);
      cursor = page.next;
    } while (cursor !== undefined);
    return all;
  }

  /** Oldest first. */
  async changes(file: CuratedFile): Promise<MemoryChange[]> {
    const all: MemoryChange[] = [];
    let cursor: string | undefined;
    do {
      const params = { file, limit: 1000, ...(cursor === undefined ? {} : { cursor }) };
      const page = (await this.ops.call('memory/log', params)) as unknown as {
        changes: MemoryChange[];
        next?: string;
      };
      all.push(...page.changes);
      cursor = page.next;
    } while (cursor !== undefined);
    return all.toReversed();
  }

  /** The highest sequence number in the store; every one is there once. */
  seqMax(): Promise<number> {
    this.#seqMax ??= this.#highest();
    return this.#seqMax;
  }

  async #highest(): Promise<number> {
    const seen = new Set<number>();
    for (const kind of kindNames) {
      for (const { seq, key } of await this.records(kind)) {
        if (seq === undefined) continue;
        assert.ok(!seen.has(seq), `sequence number ${seq} twice, at ${key} too`);
        seen.add(seq);
      }
    }
    let highest = 0;
    for (const seq of seen) highest = Math.max(highest, seq);
    return highest;
  }
}

/** Works on a connection of its own until that is cut, or so many operations are done. @param work says how many it did */
export async function useWhileOpen(
  path: string,
  opsMax: number,
  work: (client: LineClient) => Promise<number | void>,
): Promise<void> {
  const client = await LineClient.open(path);
  if (client === undefined) return;
  for (let ops = 0; client.isOpen && ops < opsMax;) ops += (await work(client)) ?? 1;
  client.destroy();
}
