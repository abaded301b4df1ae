/**
 * The lines of an export, in this order: a head; every record with its key and sequence, in key order; the curated files;
 * every session log, line by line; an end with counts and a digest over all lines before it. Nothing in it depends on
 * when or where it was made, so the same memory gives the same bytes.
 */

export const exportFormat = 1;

export type ExportLine =
  | { readonly loopkeep: 'export'; readonly format: number }
  | { readonly record: string; readonly seq: number; readonly value: unknown }
  | { readonly file: string; readonly text: string }
  | { readonly session: string; readonly line: string }
  | {
      readonly end: {
        readonly records: number;
        readonly files: number;
        readonly lines: number;
        readonly sha256: string;
      };
    };

export const exportHead: ExportLine = { loopkeep: 'export', format: exportFormat };

/** Prefixes of the records that an export holds; request ids and what is derived stay behind. */
export const exportedPrefixes = [
  'ck/',
  'ep/',
  'fg/',
  'gs/',
  'lg/',
  'mh/',
  'mp/',
  'pr/',
  'sp/',
  'st/',
  'su/',
] as const;
