/** Lines of an export on their way to memoryd: many in one request, a very long one alone and as its value. */
import type { Client } from '../../shared/client.ts';
import type { MemorydProtocol } from '../../shared/protocol/memoryd.ts';

const linesMax = 500;
const bytesMax = 2 * 1024 * 1024;
/** One import is one commit, and on a slow disk it takes its time. */
const timeoutMs = 10 * 60 * 1000;

export class ImportBatch {
  readonly totals = { stored: 0, known: 0 };
  readonly #memory: Pick<Client<MemorydProtocol>, 'call'>;
  #lines: unknown[] = [];
  #bytes = 0;

  constructor(memory: Pick<Client<MemorydProtocol>, 'call'>) {
    this.#memory = memory;
  }

  async add(line: string): Promise<void> {
    const isLong = line.length > bytesMax;
    if (isLong) await this.send();
    // Text within text could be twice as long as a message may be.
    this.#lines.push(isLong ? (JSON.parse(line) as unknown) : line);
    this.#bytes += line.length;
    if (this.#lines.length >= linesMax || this.#bytes >= bytesMax) await this.send();
  }

  async send(): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    if (lines.length === 0) return;
    const { stored, known } = await this.#memory.call('import', { lines }, { timeoutMs });
    this.totals.stored += stored;
    this.totals.known += known;
  }
}
