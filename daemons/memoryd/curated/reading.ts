/** A curated file read and understood. */
import { AppError } from '../../../shared/errors.ts';
import { readSettled, type Seen } from './disk-file.ts';
import { emptyFile, parse, type ParsedFile } from './file-format.ts';

export interface Reading {
  readonly seen: Seen;
  readonly parsed: ParsedFile;
}

/** Where there is no file, the reading is that of an empty one. @throws AppError memory-unreadable */
export async function lookAt(path: string, known: Buffer | undefined): Promise<Reading> {
  const seen = await readSettled(path, known);
  return { seen, parsed: seen.bytes === undefined ? emptyFile : parseAt(path, seen.bytes) };
}

function parseAt(path: string, bytes: Buffer): ParsedFile {
  try {
    return parse(bytes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, `read ${path}: ${error.message}`, {
      details: { path, ...error.details },
      cause: error,
    });
  }
}
