/**
 * The text of a curated file: parse and render, both pure.
 *
 * A top-level `- ` item is an entry, its further lines are indented by two spaces, and what stands before the first
 * item is the preamble. Of what people type besides, nothing is dropped: `* ` and `+ ` are items too; a line that goes
 * on without indentation belongs to the entry above it; a heading, and a paragraph after a blank line, is an entry of
 * its own, and so is each line of a numbered list. Only what changes is written anew: every other entry keeps its
 * bytes, its line ends and the blank lines after it.
 */
import { AppError } from '../../../shared/errors.ts';
import { codePoints, normalizeEntry } from './entry-rule.ts';
import { invalidUtf8At } from './utf8.ts';

/** How the file was written, so that it can be written back the same way. */
interface FileStyle {
  readonly hasBom: boolean;
  readonly lineEnd: '\n' | '\r\n';
  /** The preamble's own text, with its line ends and blank lines. */
  readonly preamble: string;
  /** The own text of each entry, with what follows it up to the next one. */
  readonly chunks: readonly string[];
}

export interface ParsedFile {
  readonly preamble: string;
  readonly entries: readonly string[];
  readonly style: FileStyle;
}

export const emptyFile: ParsedFile = {
  preamble: '',
  entries: [],
  style: { hasBom: false, lineEnd: '\n', preamble: '', chunks: [] },
};

const bom = '\ufeff';
const item = /^( ?[-*+])([ \t]+|$)(.*)$/s;
const numbered = /^[0-9]{1,9}[.)](?:[ \t]|$)/;
const heading = /^#{1,6}(?:[ \t]|$)/;
const codeFence = /^(`{3,}|~{3,})/;
/** An item's text may stand this far from its margin; beyond it the blanks are text of their own. */
const indentMax = 5;

/** @throws AppError memory-unreadable, with the offset, when the bytes are not UTF-8. */
export function parse(bytes: Uint8Array): ParsedFile {
  const offset = invalidUtf8At(bytes);
  if (offset !== undefined) {
    throw new AppError('memory-unreadable', `not UTF-8 at byte ${offset}`, {
      details: { reason: 'not-utf8', offset },
    });
  }
  if (bytes.length > 0 && bytes.every((byte) => byte === 0)) {
    throw new AppError('memory-unreadable', 'nothing but zero bytes, as a power cut leaves them', {
      details: { reason: 'zero-filled', offset: 0 },
    });
  }
  return parseText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
}

/** The file with these entries: what did not change keeps its bytes. */
export function render(file: ParsedFile, entries: readonly string[]): Buffer {
  const kept = renderKept(file, entries);
  const text = holds(kept, file.preamble, entries) ? kept : renderAnew(file, entries);
  return Buffer.from(text, 'utf8');
}

/** One entry as the item that it is in the file and in the block. */
export function renderEntry(entry: string): string {
  return `- ${entry.replace(/\n(?!\n|$)/g, '\n  ')}`;
}

/** Code points of the entries plus one for each separator between them: what the limit counts. */
export function sizeOf(entries: readonly string[]): number {
  let size = Math.max(0, entries.length - 1);
  for (const entry of entries) size += codePoints(entry);
  return size;
}

interface Line {
  /** Without its line end. */
  readonly text: string;
  readonly raw: string;
}

interface Draft {
  raw: string;
  lines: string[];
  /** How many blanks a further line may shed. */
  indent: number;
  isNumbered: boolean;
}

function parseText(source: string): ParsedFile {
  const hasBom = source.startsWith(bom);
  const lines = linesOf(hasBom ? source.slice(1) : source);
  const fenced = fencedLines(lines);
  let preamble = '';
  let above: Above = 'blank';
  const drafts: Draft[] = [];
  for (const [at, line] of lines.entries()) {
    const current = drafts.at(-1);
    const isFenced = fenced.has(at);
    const opened = isFenced ? undefined : draftOf(line, current, above);
    if (opened) drafts.push(opened);
    else if (current) continueDraft(current, line, isFenced);
    else preamble += line.raw;
    above = isFenced ? 'text' : aboveOf(line);
  }
  const { entries, chunks, rest } = settle(drafts);
  return {
    preamble: normalizeEntry(preamble + rest),
    entries,
    style: { hasBom, lineEnd: lineEndOf(lines), preamble: preamble + rest, chunks },
  };
}

/** What the line above was: it decides whether a line without a marker goes on or begins anew. */
type Above = 'blank' | 'heading' | 'text';

function aboveOf({ text }: Line): Above {
  if (text.trim() === '') return 'blank';
  return heading.test(text) ? 'heading' : 'text';
}

/** A new entry, if this line begins one. */
function draftOf({ text, raw }: Line, current: Draft | undefined, above: Above): Draft | undefined {
  const marked = item.exec(text);
  if (marked) {
    const [, marker = '', gap = '', first = ''] = marked;
    const indent = first.trim() === '' ? 2 : Math.min(marker.length + gap.length, indentMax);
    return { raw, lines: [first], indent, isNumbered: false };
  }
  if (numbered.test(text) && (above !== 'text' || current?.isNumbered))
    return { raw, lines: [text], indent: 3, isNumbered: true };
  if (!current || text.trim() === '' || /^(?: {2}|\t)/.test(text)) return undefined;
  if (heading.test(text) || above === 'blank') return { raw, lines: [text], indent: 2, isNumbered: false };
  return undefined;
}

function continueDraft(draft: Draft, { text, raw }: Line, isFenced: boolean): void {
  draft.raw += raw;
  if (isFenced) draft.lines.push(text);
  else if (text.startsWith('\t')) draft.lines.push(text.slice(1));
  else {
    const blanks = text.length - text.replace(/^ +/, '').length;
    draft.lines.push(text.slice(Math.min(blanks, draft.indent)));
  }
}

/** A bullet with nothing behind it is no entry; its text stays with the entry above, or the preamble. */
function settle(drafts: readonly Draft[]): { entries: string[]; chunks: string[]; rest: string } {
  const entries: string[] = [];
  const chunks: string[] = [];
  let rest = '';
  for (const draft of drafts) {
    const entry = normalizeEntry(draft.lines.join('\n'));
    if (entry !== '') {
      entries.push(entry);
      chunks.push(draft.raw);
    } else if (chunks.length > 0) chunks[chunks.length - 1] += draft.raw;
    else rest += draft.raw;
  }
  return { entries, chunks, rest };
}

function linesOf(source: string): Line[] {
  return [...source.matchAll(/([^\r\n]*)(?:\r\n|\r|\n|$)/g)]
    .filter(([raw]) => raw !== '')
    .map(([raw, text = '']) => ({ text, raw }));
}

/** Lines inside an unindented code fence that is closed: in there a `- ` is code. Rendered entries never hold one. */
function fencedLines(lines: readonly Line[]): Set<number> {
  const fenced = new Set<number>();
  const closers = new Map<string, number>();
  for (const [at, { text }] of lines.entries()) {
    const fence = /^(`{3,}|~{3,})[ \t]*$/.exec(text)?.[1];
    if (fence) closers.set(fence, at);
  }
  for (let at = 0; at < lines.length; at += 1) {
    const fence = codeFence.exec(lines[at]?.text ?? '')?.[1];
    if (fence === undefined || (closers.get(fence) ?? -1) <= at) continue;
    // The opening line follows the rules of any line; the closing one belongs to what it closes.
    for (at += 1; lines[at]?.text.trimEnd() !== fence; at += 1) fenced.add(at);
    fenced.add(at);
  }
  return fenced;
}

function lineEndOf(lines: readonly Line[]): '\n' | '\r\n' {
  const crlf = lines.filter(({ raw }) => raw.endsWith('\r\n')).length;
  return crlf * 2 > lines.length ? '\r\n' : '\n';
}

function renderKept({ style, entries: before }: ParsedFile, entries: readonly string[]): string {
  const own = new Map<string, string[]>();
  for (const [at, entry] of before.entries()) {
    const chunks = own.get(entry);
    if (chunks) chunks.push(style.chunks[at] ?? '');
    else own.set(entry, [style.chunks[at] ?? '']);
  }
  // Where blank lines stand between all the entries, they stand before a new one too.
  const isLoose =
    style.chunks.length > 1 && style.chunks.slice(0, -1).every((chunk) => /[\r\n][ \t]*[\r\n]+$/.test(chunk));
  const gap = isLoose ? style.lineEnd : '';
  const chunks = entries.map((entry, at) => {
    const chunk = own.get(entry)?.shift() ?? chunkOf(entry, style);
    // What comes to stand first without a marker would be the preamble.
    return at === 0 && isBare(chunk) && before[0] !== entry ? chunkOf(entry, style) : chunk;
  });
  const parts = chunks.map((chunk, at) => {
    const next = chunks[at + 1];
    if (next === undefined) return withLineEnd(chunk, style);
    return withGap(chunk, isBare(next) ? style.lineEnd : gap, style);
  });
  return assemble(style, parts);
}

/** A paragraph without a marker: it needs a blank line before it. */
function isBare(chunk: string): boolean {
  const [line = ''] = chunk.split(/[\r\n]/, 1);
  return !item.test(line) && !heading.test(line) && !numbered.test(line);
}

function renderAnew({ style }: ParsedFile, entries: readonly string[]): string {
  return assemble(
    style,
    entries.map((entry) => chunkOf(entry, style)),
  );
}

function assemble(style: FileStyle, parts: readonly string[]): string {
  let preamble = style.preamble;
  // What was a file without entries gets a blank line before its first one.
  if (preamble.trim() !== '' && parts.length > 0 && style.chunks.length === 0)
    preamble = withGap(preamble, style.lineEnd, style);
  else if (preamble !== '') preamble = withLineEnd(preamble, style);
  return (style.hasBom ? bom : '') + preamble + parts.join('');
}

function chunkOf(entry: string, { lineEnd }: FileStyle): string {
  return renderEntry(entry).replaceAll('\n', lineEnd) + lineEnd;
}

function withLineEnd(text: string, { lineEnd }: FileStyle): string {
  return /[\r\n]$/.test(text) ? text : text + lineEnd;
}

function withGap(text: string, gap: string, style: FileStyle): string {
  const ended = withLineEnd(text, style);
  return gap === '' || /(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)$/.test(ended) ? ended : ended + gap;
}

function holds(text: string, preamble: string, entries: readonly string[]): boolean {
  const read = parseText(text);
  return (
    read.preamble === preamble &&
    read.entries.length === entries.length &&
    read.entries.every((entry, at) => entry === entries[at])
  );
}
