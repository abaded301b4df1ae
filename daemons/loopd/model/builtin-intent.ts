/** What a person asks of the fixed responder; whatever is no command is a question to look up. */
export type Intent =
  | { readonly kind: 'remember'; readonly file: 'memory' | 'user'; readonly text: string }
  | { readonly kind: 'forget'; readonly text: string }
  | { readonly kind: 'time' }
  /** What is known at all. */
  | { readonly kind: 'everything' }
  | { readonly kind: 'ask'; readonly query: string };

/** Before a command: politeness, and the name of who speaks where several do. */
const lead = String.raw`^\s*(?:[^\n:?!.]{1,40}:\s+)?(?:(?:please|hey|ok|okay|hi|hello)[,!]?\s+)*(?:(?:can|could|would) you\s+)?(?:please\s+)?`;
const remember = new RegExp(
  String.raw`${lead}(?:remember(?!\s+(?:when|how|what|who|where|why|if)\b)|note|keep in mind|don['’]t forget|do not forget)(?:\s*:|\s+that\b|\s+this\s*:)?\s+(?<text>.+)$`,
  'isu',
);
const forget = new RegExp(
  String.raw`${lead}forget(?:\s*:|\s+that\b|\s+about\b|\s+what you know about\b)?\s+(?<text>.+)$`,
  'isu',
);
const time =
  /\b(?:what(?:['’]s| is)?(?: the)? (?:time|date|day)\b(?! of)|(?:what|which) day is (?:it|today)|current (?:time|date)|today['’]s date|how late is it)|\bwie spät|\bwelcher tag\b/iu;
const everything =
  /\bwhat (?:do|did) you (?:know|remember|have)(?: (?:about|of) (?:me|us)| in (?:your )?memory| so far)?\s*[?.!]*$|\bwho am i\s*[?.!]*$|\bwhat(?:['’]s| is) in (?:your |my )?memory\b/iu;
const about =
  /(?:what (?:do|did) you (?:know|remember|have)|tell me(?: what you know)?|what (?:have i|did i) (?:said|say|told? you)|do you (?:know|remember)(?: anything| something)?)\s+(?:about|of|on)\s+(?<text>.+)$/isu;
/** Sentences of a person about themselves. */
const self =
  /^(?:i|i['’]?m|i['’]ve|my (?:name|birthday|age|job|pronouns|address|phone|email|e-mail)|call me)\b/iu;

export function intentOf(message: string): Intent {
  const text = message.trim();
  const isQuestion = text.endsWith('?');
  const noted = remember.exec(text)?.groups?.['text'];
  if (noted !== undefined && !(isQuestion && /^\s*remember/i.test(text))) return remembered(noted);
  const gone = forget.exec(text)?.groups?.['text'];
  if (gone !== undefined && !isQuestion) return { kind: 'forget', text: withoutEnd(gone) };
  if (time.test(text)) return { kind: 'time' };
  if (everything.test(text)) return { kind: 'everything' };
  return { kind: 'ask', query: withoutEnd(about.exec(text)?.groups?.['text'] ?? text) };
}

function remembered(noted: string): Intent {
  const text = withoutEnd(noted);
  return { kind: 'remember', file: self.test(text) ? 'user' : 'memory', text };
}

/** Without what ends the person's sentence, and is no part of what is told. */
function withoutEnd(text: string): string {
  return text
    .trim()
    .replace(/(?<!\.)[.!?]$/u, '')
    .trim();
}
