/** One spelling for every way to write the same text: width, composition, diacritics; case stays, for the splitting of identifiers. */
import { stopWords } from './stop-words.ts';

export interface Folded {
  readonly text: string;
  /** For each code unit of `text`, and its end, the offset in the original; absent where all are equal. */
  readonly offsets?: Uint32Array;
}

/** Letters without a decomposition that most who search write without their stroke, and marks with several shapes. */
const plain = new Map([
  ...Object.entries({ ø: 'o', Ø: 'O', ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ð: 'd', Ð: 'D', þ: 'th', Þ: 'TH' }),
  ...Object.entries({ ß: 'ss', ẞ: 'SS', æ: 'ae', Æ: 'AE', œ: 'oe', Œ: 'OE', ı: 'i', ħ: 'h', Ħ: 'H', ς: 'σ' }),
  ...Object.entries({ '\u2019': "'", '\u2018': "'", '\u02bc': "'", '\u201c': '"', '\u201d': '"' }),
  ...Object.entries({ '\u2010': '-', '\u2011': '-', '\u2212': '-' }),
]);

/** Marks that change how a letter sounds, not which letter it is; those of Indic scripts stay. */
const softMarks = [
  ['\u0300-\u036f', '\u1ab0-\u1aff', '\u1dc0-\u1dff', '\u20d0-\u20ff', '\ufe20-\ufe2f'],
  ['\u0483-\u0489'],
  ['\u0591-\u05bd', '\u05bf', '\u05c1', '\u05c2', '\u05c4', '\u05c5', '\u05c7'],
  ['\u0610-\u061a', '\u0640', '\u064b-\u065f', '\u0670', '\u06d6-\u06dc', '\u06df-\u06e8', '\u06ea-\u06ed'],
];
/** Hyphenation, joiners, directions, variation selectors, the byte order mark. */
const invisible = [
  '\u00ad',
  '\u200b-\u200f',
  '\u202a-\u202e',
  '\u2060-\u2064',
  '\u2066-\u2069',
  '\ufe00-\ufe0f',
  '\ufeff',
];
const dropped = new RegExp(`[${[...softMarks.flat(), ...invisible].join('')}]`, 'g');

const beyondAscii = /[^ -~\n\t\r]/;
const pictograph = /\p{Extended_Pictographic}/u;
const symbol = /[\p{So}\p{Extended_Pictographic}]/u;
const skinTone = /[\u{1f3fb}-\u{1f3ff}]/u;
/** Hangul syllables and kana: letters of their own, of which only the width is folded. */
const wholeLetter = /[\uac00-\ud7a3\u3040-\u3098\u309b-\u30ff]/;
const jamo = /[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?/y;
const voicingMark = /^[\u3099\u309a]$/;
const joiner = 0x200d;

export function fold(original: string): Folded {
  if (!beyondAscii.test(original)) return { text: original };
  const text = original.toWellFormed();
  const folded = new Folding();
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!;
    const syllable = code >= 0x1100 && code <= 0x1112 ? syllableAt(text, at) : undefined;
    if (code < 0x80) folded.put(text[at]!, at);
    else if (syllable !== undefined) folded.put(syllable.normalize('NFC'), at);
    else if (code !== joiner) folded.put(foldedPoint(code), at);
    else if (joinsPictures(text, at + 1)) folded.put('\u200d', at);
    at += syllable?.length ?? (code > 0xffff ? 2 : 1);
  }
  return folded.end(text.length);
}

class Folding {
  #text = '';
  readonly #offsets: number[] = [];

  put(piece: string, at: number): void {
    if (voicingMark.test(piece)) return this.#voice(piece);
    this.#text += piece;
    for (let unit = 0; unit < piece.length; unit += 1) this.#offsets.push(at);
  }

  end(length: number): Folded {
    this.#offsets.push(length);
    return { text: this.#text, offsets: Uint32Array.from(this.#offsets) };
  }

  /** か and a voicing mark are が, also where the mark came in half width. */
  #voice(mark: string): void {
    const joined = ((this.#text.at(-1) ?? '') + mark).normalize('NFC');
    if (joined.length === 1 && this.#text !== '') this.#text = this.#text.slice(0, -1) + joined;
  }
}

function syllableAt(text: string, at: number): string | undefined {
  jamo.lastIndex = at;
  return jamo.exec(text)?.[0];
}

function joinsPictures(text: string, at: number): boolean {
  const next = text.codePointAt(at);
  return next !== undefined && pictograph.test(String.fromCodePoint(next));
}

const pointsMax = 20_000;
const points = new Map<number, string>();

function foldedPoint(code: number): string {
  let folded = points.get(code);
  if (folded === undefined) {
    if (points.size >= pointsMax) points.clear();
    points.set(code, (folded = foldOnce(String.fromCodePoint(code))));
  }
  return folded;
}

function foldOnce(character: string): string {
  if (skinTone.test(character)) return '';
  if (wholeLetter.test(character)) return character;
  const parts = plain.get(character) ?? character.normalize('NFKD').replace(dropped, '');
  const folded = Array.from(parts, (part) => plain.get(part) ?? part).join('');
  // ‼ and № would dissolve into marks, or a word that nobody looks up.
  return symbol.test(character) && saysNothing(folded) ? character : folded;
}

function saysNothing(text: string): boolean {
  const word = text.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();
  return word === '' || stopWords.has(word);
}
