/** What recall found, read back from the text that its tool answers with, and the few quotes that say something new. */
import { intentOf } from './builtin-intent.ts';
import { stemsOf, wordsOf } from './notes.ts';

export interface Quote {
  /** Local date and minute. */
  readonly when: string;
  /** `session <id>` or `run <id>`. */
  readonly place: string;
  readonly who: string;
  readonly text: string;
  /** What was said next, where the quote itself only asks. */
  readonly next?: string;
}

export interface Recalled {
  readonly quotes: readonly Quote[];
  /** Not every word that was asked for is in what was found. */
  readonly isLoose: boolean;
  /** What a person should know: that the index is behind, that sessions were left out. */
  readonly remarks: readonly string[];
}

const nothingRecalled: Recalled = { quotes: [], isLoose: false, remarks: [] };
const hitStart = /^\d+\. /;
const headLine =
  /^\d+\. (?<when>[^,]+), (?<place>(?:session|run) .+?)(?:, turn \d+)?(?:, ref .+?)?, (?<role>person|assistant|tool|run)(?: (?<name>.+))?:$/;
const before = /^\(\w+ before\) /;
const after = /^\((?<role>\w+) after\) /;
/** Advice to a model about its next call. */
const forModels = /^There is more:|left out here:/;

export function readRecalled(text: string): Recalled {
  if (text === '') return nothingRecalled;
  const [head = '', ...parts] = text.split('\n\n');
  const isList = /^(?:\d+ found|Nothing found)/.test(head);
  const remarks = parts.filter((part) => !hitStart.test(part)).flatMap((part) => part.split('\n'));
  return {
    quotes: parts.filter((part) => hitStart.test(part)).flatMap(quoteOf),
    isLoose: head.includes('(loose)'),
    // Neither a list nor the sentence that there is none: recall failed, and says how.
    remarks: [...(isList ? [] : [head]), ...remarks.filter((remark) => !forModels.test(remark))],
  };
}

function quoteOf(block: string): Quote[] {
  const [head = '', ...quoted] = block.split('\n');
  const { when = '', place = '', role = '', name } = headLine.exec(head)?.groups ?? {};
  if (role === '') return [];
  const lines = quoted.map((line) => line.slice(2));
  const from = lines.findIndex((line) => !before.test(line));
  const to = lines.findLastIndex((line) => !after.test(line)) + 1;
  const text = lines.slice(Math.max(0, from), to).join('\n').trim();
  const next = lines[to] ?? '';
  // Of one person who asks, what follows is an answer only where somebody else says it.
  const isAnswered =
    isQuestion(text) && (name !== undefined || after.exec(next)?.groups?.['role'] === 'assistant');
  return [{ when, place, who: name ?? role, text, ...(isAnswered ? { next: next.replace(after, '') } : {}) }];
}

/** The first quotes that speak of what was asked, and say more than the question and what is shown already. */
export function tellingQuotes(
  quotes: readonly Quote[],
  { asked, shown, max }: { asked: string; shown: readonly string[]; max: number },
): Quote[] {
  const known = shown.map(wordsOf);
  const asking = stemsOf(asked);
  const telling: Quote[] = [];
  for (const quote of onSubject(quotes, { asking, shown })) {
    if (telling.length === max) break;
    const said = intentOf(quote.text);
    // "Remember that X" says X, and no more.
    const words = wordsOf(said.kind === 'remember' ? said.text : quote.text);
    const isAskedAgain =
      quote.next === undefined && isQuestion(quote.text) && isWithin(stemsOf(quote.text), asking);
    if (said.kind === 'talk' || isAskedAgain || known.some((one) => isWithin(words, one))) continue;
    known.push(words);
    telling.push(quote);
  }
  return telling;
}

/**
 * Beside what is shown: what shares half as many words with the question. Alone: what shares any word, then what ranks
 * first, or everything where nothing shares one.
 */
function onSubject(
  quotes: readonly Quote[],
  { asking, shown }: { asking: ReadonlySet<string>; shown: readonly string[] },
): readonly Quote[] {
  const shared = (text: string) => [...stemsOf(text)].filter((stem) => asking.has(stem)).length;
  const sharedBy = ({ who, text }: Quote) => shared(`${who} ${text}`);
  const most = Math.max(0, ...shown.map(shared));
  if (most > 0) return quotes.filter((quote) => sharedBy(quote) * 2 >= most);
  const [first] = quotes;
  const sharing = quotes.filter((quote) => sharedBy(quote) > 0);
  if (first === undefined || sharing.length === 0) return quotes;
  return sharedBy(first) > 0 ? sharing : [...sharing, first];
}

/** A longer text says something besides what it asks. */
const questionCharsMax = 200;

function isQuestion(text: string): boolean {
  return text.length <= questionCharsMax && /[?？]\s*$/u.test(text);
}

function isWithin(words: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return [...words].every((word) => others.has(word));
}
