/** Writes groups into an open store: with the sequence number in each, and the high-water mark behind it. */
import { AppError } from '../../../shared/errors.ts';
import type { Group } from './commit-queue.ts';
import type { Engine } from './engine.ts';
import { HighWater, type Mark } from './high-water.ts';
import { StoreDirectory } from './store-directory.ts';
import type { StoreFiles } from './store-files.ts';
import { sequenceOperation } from './store-meta.ts';

/** `all`: on the disk before it is acknowledged; `checkpoint`: only what asks for it. */
export type Durability = 'all' | 'checkpoint';

export class StoreWriter {
  readonly #engine: Engine<string>;
  readonly #directory: StoreDirectory;
  readonly #highWater: HighWater;
  readonly #durable: Durability;
  /** What is in the store: the mark once it is on the disk. */
  #seq: number;
  #operations: number;

  private constructor(
    engine: Engine<string>,
    parts: { directory: StoreDirectory; highWater: HighWater; durable: Durability; mark: Mark },
  ) {
    this.#engine = engine;
    this.#directory = parts.directory;
    this.#highWater = parts.highWater;
    this.#durable = parts.durable;
    this.#seq = parts.mark.seq;
    this.#operations = parts.mark.operations;
  }

  static async open(
    engine: Engine<string>,
    { files, mark, durable }: { files: StoreFiles; mark: Mark; durable: Durability },
  ): Promise<StoreWriter> {
    const directory = new StoreDirectory(files.dir);
    await directory.sync();
    const highWater = await HighWater.open(files.highWater, mark);
    return new StoreWriter(engine, { directory, highWater, durable, mark });
  }

  /** @param seq the highest sequence number given out so far */
  async write({ operations, sync, flush }: Group, seq: number): Promise<void> {
    if (operations.length > 0) {
      operations.push(sequenceOperation(seq));
      await this.#engine.write(operations, { sync });
      this.#operations += operations.length;
      this.#seq = seq;
    }
    this.assertThere();
    // A new name: LevelDB went on in a new log, and left the end of the old one unsynced.
    const isNew = this.#directory.hasChanged();
    if (flush || (isNew && this.#durable === 'checkpoint')) await this.#engine.flush();
    if (isNew) await this.#directory.sync();
    // The mark says what was promised to survive anything.
    if (sync || flush) this.#highWater.advance({ seq: this.#seq, operations: this.#operations });
  }

  /** @throws AppError store-damaged where what is written would go to a directory that nobody will find. */
  assertThere(): void {
    refuse(this.#directory.lost());
  }

  /** @throws AppError store-damaged where the directory is gone, or the file that our lock is on. */
  assertHeld(): void {
    refuse(this.#directory.lost() ?? this.#directory.lostLock());
  }

  /** After it, the mark stands at the last operation. */
  async finish(): Promise<void> {
    await this.#engine.flush();
    this.#highWater.advance({ seq: this.#seq, operations: this.#operations });
  }

  close(): void {
    this.#highWater.close();
  }
}

function refuse(reason: string | undefined): void {
  if (reason === undefined) return;
  throw new AppError('store-damaged', reason, { details: { reasons: [reason] } });
}
