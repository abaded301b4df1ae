/** Replays LevelDB's MANIFEST: which tables and which logs make up the store. */
import { ByteReader } from './byte-reader.ts';

export interface Manifest {
  /** Logs of a lower number are obsolete. */
  readonly log: number;
  readonly previousLog: number;
  readonly nextFile: number;
  /** LevelDB's own count of operations when the last edit was written. */
  readonly sequence: number;
  /** Size in bytes by file number. */
  readonly tables: ReadonlyMap<number, number>;
}

const tag = {
  comparator: 1,
  log: 2,
  nextFile: 3,
  sequence: 4,
  compactPointer: 5,
  deletedTable: 6,
  newTable: 7,
  previousLog: 9,
} as const;

/** @throws RangeError where a record is no version edit. */
export function replayManifest(records: readonly Buffer[]): Manifest {
  const tables = new Map<number, number>();
  const numbers = { log: 0, previousLog: 0, nextFile: 0, sequence: 0 };
  for (const record of records) {
    const reader = new ByteReader(record);
    while (!reader.isDone) {
      const found = reader.varint();
      if (found === tag.log) numbers.log = reader.varint();
      else if (found === tag.previousLog) numbers.previousLog = reader.varint();
      else if (found === tag.nextFile) numbers.nextFile = reader.varint();
      else if (found === tag.sequence) numbers.sequence = reader.varint();
      else if (found === tag.comparator) reader.prefixed();
      else readTableTag(reader, found, tables);
    }
  }
  return { ...numbers, tables };
}

/** The tags about tables; each of them starts with a level, which does not matter here. */
function readTableTag(reader: ByteReader, found: number, tables: Map<number, number>): void {
  if (found !== tag.compactPointer && found !== tag.deletedTable && found !== tag.newTable) {
    throw new RangeError(`an edit with tag ${found}`);
  }
  reader.varint();
  if (found === tag.compactPointer) {
    reader.prefixed();
  } else if (found === tag.deletedTable) {
    tables.delete(reader.varint());
  } else {
    const number = reader.varint();
    tables.set(number, reader.varint());
    // The first and the last key of the table.
    reader.prefixed();
    reader.prefixed();
  }
}
