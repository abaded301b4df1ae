/** Everything that there is only while the store is open, and how it is let go. */
import type { AppError } from '../../../shared/errors.ts';
import type { Engine, Reader } from './engine.ts';
import { removeHolderNote, writeHolderNote } from './lock-holder.ts';
import type { OpenedStore } from './open-store.ts';
import { RecordReader } from './record-reader.ts';
import { type StoreFiles, writeDurably } from './store-files.ts';
import type { StoreLog } from './store-log.ts';
import { type Durability, StoreWriter } from './store-writer.ts';
import { TablesScrub } from './tables-scrub.ts';

const watchEveryMs = 1_000;

export interface HandleOptions {
  readonly files: StoreFiles;
  readonly durable: Durability;
  readonly log: StoreLog;
  readonly whyClosed: () => AppError;
  /** The tables are damaged. */
  readonly onDamage: (reasons: readonly string[]) => void;
  /** The directory is gone, or the file that our lock is on. */
  readonly onLost: (error: unknown) => void;
}

export class StoreHandle {
  readonly engine: Engine<string>;
  readonly opened: OpenedStore;
  readonly writer: StoreWriter;
  readonly scrub: TablesScrub;
  readonly reader: RecordReader;
  readonly #options: HandleOptions;
  readonly #watch: NodeJS.Timeout;

  private constructor(opened: OpenedStore, writer: StoreWriter, options: HandleOptions) {
    this.engine = opened.engine;
    this.opened = opened;
    this.writer = writer;
    this.scrub = new TablesScrub(options.files.dir, options.onDamage);
    this.#options = options;
    this.reader = this.readerOf(opened.engine);
    this.#watch = setInterval(() => this.#look(), watchEveryMs).unref();
  }

  /** Closes the engine where it cannot be used. */
  static async open(opened: OpenedStore, options: HandleOptions): Promise<StoreHandle> {
    const { files, durable, log } = options;
    const { engine, mark, defects, wasCleanStop } = opened;
    let writer: StoreWriter;
    try {
      writer = await StoreWriter.open(engine, { files, mark, durable });
    } catch (error) {
      await engine.close();
      throw error;
    }
    await writeHolderNote(files).catch((error: unknown) =>
      log.warn({ err: error }, 'no note of who holds it'),
    );
    for (const defect of defects) log.warn({ ...defect }, 'a write that was never acknowledged was cut off');
    log.info({ seq: mark.seq, wasCleanStop, tables: opened.tables.length }, 'record store open');
    return new StoreHandle(opened, writer, options);
  }

  /** Of the store, or of a snapshot of it. */
  readerOf(reader: Reader<string>): RecordReader {
    return new RecordReader(reader, () => this.scrub.suspect(), this.#options.whyClosed);
  }

  /** Checks the tables beside the work, unless that was done before. */
  startScrub(): void {
    const { tables, areTablesChecked } = this.opened;
    if (areTablesChecked) this.scrub.skip(tables);
    else void this.scrub.run(tables);
  }

  /** When nothing writes any more. @param isClean nothing went wrong, and the next start is to know it */
  async close(isClean: boolean): Promise<void> {
    const { files, log } = this.#options;
    clearInterval(this.#watch);
    await this.scrub.stop();
    try {
      if (isClean) await this.writer.finish();
    } catch (error) {
      isClean = false;
      log.error({ err: error }, 'the record store could not be synced at its end');
    }
    try {
      await this.engine.close();
      this.writer.close();
      if (isClean) await writeDurably(files.cleanStop, 'clean\n');
    } catch (error) {
      log.error({ err: error }, 'the record store could not be closed cleanly');
    }
    removeHolderNote(files);
  }

  #look(): void {
    try {
      this.writer.assertHeld();
    } catch (error) {
      this.#options.onLost(error);
    }
  }
}
