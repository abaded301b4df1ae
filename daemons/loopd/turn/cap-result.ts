/** The result of a tool as it is recorded: whole, or its beginning and its end around a line that says how much is missing. */
export interface CappedResult {
  readonly text: string;
  /** Of the whole result. */
  readonly bytes: number;
  readonly cut?: true;
}

export function capResult(text: string, bytesMax: number): CappedResult {
  const whole = text.toWellFormed();
  const bytes = Buffer.byteLength(whole);
  if (bytes <= bytesMax) return { text: whole, bytes };
  const marker = `\n[… cut: the whole result has ${bytes} bytes …]\n`;
  const room = Math.max(0, bytesMax - Buffer.byteLength(marker));
  const buffer = Buffer.from(whole);
  const headBytes = Math.floor((room * 2) / 3);
  const head = buffer.subarray(0, characterStart(buffer, headBytes));
  const tail = buffer.subarray(characterEnd(buffer, buffer.length - (room - headBytes)));
  return { text: `${head.toString()}${marker}${tail.toString()}`, bytes, cut: true };
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** The place at or before `at` where a character starts. */
function characterStart(buffer: Buffer, at: number): number {
  let start = at;
  while (start > 0 && isContinuation(buffer[start])) start -= 1;
  return start;
}

/** The place at or after `at` where a character starts. */
function characterEnd(buffer: Buffer, at: number): number {
  let end = at;
  while (end < buffer.length && isContinuation(buffer[end])) end += 1;
  return end;
}
