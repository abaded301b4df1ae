/** What a character is to the splitter of words. */

export const separator = 0;
/** A letter, digit or mark of a script that writes words apart. */
export const letter = 1;
/** A letter of a script that writes words together, or nearly so: Han, kana, Hangul, Thai and its neighbours. */
export const unspaced = 2;
/** A picture or another sign that somebody may look up. */
export const sign = 3;
/** Joins the words of an identifier, a path, a version or an address. */
export const connector = 4;

export type CharacterClass = 0 | 1 | 2 | 3 | 4;

const connectors = new Set(Array.from("_-./\\@:'&~", (mark) => mark.charCodeAt(0)));
const unspacedScript =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u3005\u3007\u30fc]/u;
const wordCharacter = /[\p{L}\p{N}\p{M}]/u;
const signCharacter = /[\p{So}\p{Sc}\p{Sk}\p{Extended_Pictographic}\u{1f1e6}-\u{1f1ff}]/u;

const unknown = 255;
const classes = new Uint8Array(0x10000).fill(unknown);
const astralMax = 20_000;
const astral = new Map<number, CharacterClass>();

export function classOf(code: number): CharacterClass {
  if (code < 0x10000) {
    if (classes[code] === unknown) classes[code] = classify(code);
    return classes[code] as CharacterClass;
  }
  let known = astral.get(code);
  if (known === undefined) {
    if (astral.size >= astralMax) astral.clear();
    astral.set(code, (known = classify(code)));
  }
  return known;
}

function classify(code: number): CharacterClass {
  if (connectors.has(code)) return connector;
  const character = String.fromCodePoint(code);
  if (unspacedScript.test(character) && wordCharacter.test(character)) return unspaced;
  if (wordCharacter.test(character)) return letter;
  if (code > 0x7f && signCharacter.test(character)) return sign;
  return separator;
}
