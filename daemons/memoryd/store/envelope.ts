/**
 * What surrounds every record in the store: its own sequence number, and a checksum over key, number and text.
 *
 *   1 0000000000000042 9ae3c1f0 {"run_id":…}      format, sequence, CRC-32 in hex, then the JSON as it came
 *
 * LevelDB gives damaged data a fresh checksum of its own when it compacts, so only this
 * one proves a record. The form is fixed so that a listing can pass the JSON on unparsed.
 */
import { crc32 } from 'node:zlib';

const format = '1';
const sequenceDigits = 16;
const sequenceAt = format.length + 1;
const crcAt = sequenceAt + sequenceDigits + 1;
const crcDigits = 8;
const jsonAt = crcAt + crcDigits + 1;
const zeros = '0'.repeat(sequenceDigits);

export interface Content {
  readonly seq: number;
  readonly json: string;
}

export function seal(key: string, { seq, json }: Content): string {
  const digits = padded(String(seq), sequenceDigits);
  return `${format} ${digits} ${crcOf(key, digits, json)} ${json}`;
}

/** @returns undefined where the checksum does not prove the value, whatever it looks like. */
export function unseal(key: string, value: string): Content | undefined {
  const digits = value.slice(sequenceAt, crcAt - 1);
  const json = value.slice(jsonAt);
  if (value.slice(0, sequenceAt) !== `${format} ` || value[crcAt - 1] !== ' ' || value[jsonAt - 1] !== ' ') {
    return undefined;
  }
  if (value.slice(crcAt, jsonAt - 1) !== crcOf(key, digits, json)) return undefined;
  const seq = Number(digits);
  return Number.isSafeInteger(seq) ? { seq, json } : undefined;
}

function crcOf(key: string, digits: string, json: string): string {
  // The NUL keeps a byte from moving between key and text unnoticed: no key holds one.
  return padded(crc32(json, crc32(`${key}\0${digits}`)).toString(16), crcDigits);
}

function padded(text: string, length: number): string {
  return zeros.slice(0, length - text.length) + text;
}
