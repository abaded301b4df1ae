/** Checks the tables of an open store beside its work: after a clean start, and when a read found damage. */
import { checkStore, type StoreReport } from './check/store-check.ts';
import { checkTables } from './check/tables-check.ts';

/** Damage that keeps being read is looked into no more often than this. */
const againAfterMs = 60_000;

export interface ScrubStatus {
  readonly state: 'waiting' | 'running' | 'whole' | 'damaged';
  readonly checked: number;
  readonly total: number;
}

export class TablesScrub {
  readonly #dir: string;
  readonly #onDamage: (reasons: readonly string[]) => void;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #endedAtMs = Number.NEGATIVE_INFINITY;
  #status: ScrubStatus = { state: 'waiting', checked: 0, total: 0 };

  constructor(dir: string, onDamage: (reasons: readonly string[]) => void) {
    this.#dir = dir;
    this.#onDamage = onDamage;
  }

  get status(): ScrubStatus {
    return this.#status;
  }

  /** Also what waits for the result: whoever rewrites tables would give damage a valid checksum. */
  run(tables?: StoreReport['tables']): Promise<void> {
    this.#running ??= this.#check(tables).finally(() => {
      this.#running = undefined;
      this.#endedAtMs = performance.now();
    });
    return this.#running;
  }

  /** A read met something that was never written. */
  suspect(): void {
    if (this.#running !== undefined || performance.now() - this.#endedAtMs < againAfterMs) return;
    void this.run();
  }

  /** They were checked already, before the store was opened. */
  skip(tables: StoreReport['tables']): void {
    this.#status = { state: 'whole', checked: tables.length, total: tables.length };
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #check(known?: StoreReport['tables']): Promise<void> {
    const { signal } = this.#stop;
    const tables = known ?? (await checkStore(this.#dir)).tables;
    let checked = 0;
    this.#status = { state: 'running', checked, total: tables.length };
    const onChecked = () => {
      checked += 1;
      this.#status = { state: 'running', checked, total: tables.length };
    };
    const reasons = await checkTables({ tables, isOpen: true, signal, onChecked });
    if (signal.aborted) return;
    this.#status = { state: reasons.length > 0 ? 'damaged' : 'whole', checked, total: tables.length };
    if (reasons.length > 0) this.#onDamage(reasons);
  }
}
