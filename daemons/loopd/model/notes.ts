/** The notes of the memory block, read back from the text of the baseline, and which of them speak of something. */
export interface Note {
  readonly file: 'memory' | 'user';
  readonly text: string;
}

/** As the block marks them: one item a note, further lines indented. */
export function notesOf(system: string): Note[] {
  const lines = system.split('\n');
  const from = lines.lastIndexOf('<memory>');
  const to = lines.lastIndexOf('</memory>');
  if (from < 0 || to < from) return [];
  const notes: { file: Note['file']; lines: string[] }[] = [];
  let file: Note['file'] = 'memory';
  let isNote = false;
  for (const line of lines.slice(from + 1, to)) {
    if (line.startsWith('- ')) {
      notes.push({ file, lines: [line.slice(2)] });
      isNote = true;
    } else if (isNote && (line.startsWith('  ') || line === '')) notes.at(-1)!.lines.push(line.slice(2));
    else {
      isNote = false;
      if (line.startsWith('memory.md')) file = 'memory';
      else if (line.startsWith('user.md')) file = 'user';
    }
  }
  return notes.map((note) => ({ file: note.file, text: note.lines.join('\n').trim() }));
}

const stopWords = new Set(
  'a about again am an and any are at be can could did do does for from had has have he her his how i in is it its know like me my not of on or our say she so tell that the their them they this to was we were what when where which who why will with would you your das der die ein eine ist was wer wie wo und ich du mein meine'.split(
    ' ',
  ),
);
/** Words that begin alike are forms of one. */
const stemCharacters = 5;

/** Texts that share words with the query, those that share most first, none that shares less than half of that. */
export function matching<T>(texts: readonly T[], query: string, textOf: (text: T) => string): T[] {
  const wanted = stemsOf(query);
  const scored = texts
    .map((text) => ({ text, score: [...stemsOf(textOf(text))].filter((stem) => wanted.has(stem)).length }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score);
  const least = (scored[0]?.score ?? 0) / 2;
  return scored.filter(({ score }) => score >= least).map(({ text }) => text);
}

/** Every word of a text, folded; of scripts that set no spaces, every pair of characters. */
export function wordsOf(text: string): Set<string> {
  const folded = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLocaleLowerCase().replaceAll('’', "'");
  const words = folded.match(/[\p{L}\p{N}']+/gu) ?? [];
  return new Set(words.flatMap((word) => (unspaced.test(word) ? pairsOf(word) : [word])));
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

function pairsOf(word: string): string[] {
  const characters = Array.from(word);
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}

/** What its words are about: forms of one word taken together, small words left out. */
export function stemsOf(text: string): Set<string> {
  const words = [...wordsOf(text)].filter((word) => !stopWords.has(word));
  return new Set(words.map((word) => word.slice(0, stemCharacters)));
}
