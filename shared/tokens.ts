/**
 * An estimate of how many tokens a text costs, without a tokenizer, that errs high for the vocabularies in use:
 * tokens per byte were 0.28–0.35 for English, 0.21–0.25 for JSON, 0.77–1.00 for hex ids and ISO dates, up to 0.81
 * for other scripts, over nine real vocabularies.
 */

const perPlainCharacter = 0.36;
const perIdCharacter = 1;
const perNonAsciiByte = 0.85;

/** A run of letters and digits that holds a digit splits into almost one token a character. */
const idRun = /[A-Za-z0-9]*[0-9][A-Za-z0-9]*(?:[-:.][A-Za-z0-9]*[0-9][A-Za-z0-9]*)*/g;

export function estimateTokens(text: string): number {
  const bytes = Buffer.byteLength(text);
  let ascii = 0;
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) < 0x80) ascii += 1;
  let id = 0;
  for (const [run] of text.matchAll(idRun)) id += run.length;
  return Math.ceil(
    (ascii - id) * perPlainCharacter + id * perIdCharacter + (bytes - ascii) * perNonAsciiByte,
  );
}
