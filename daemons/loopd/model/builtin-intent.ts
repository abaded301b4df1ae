/** What a person asks of the fixed responder; whatever is no command and no small talk is a question to look up. */
export type Intent =
  | { readonly kind: 'remember'; readonly file: 'memory' | 'user'; readonly text: string }
  | { readonly kind: 'forget'; readonly text: string }
  | { readonly kind: 'time' }
  /** What is known at all. */
  | { readonly kind: 'everything' }
  | { readonly kind: 'talk'; readonly talk: Talk }
  | { readonly kind: 'ask'; readonly query: string };

/** `who`: what it is that answers. `help`: what can be asked of it. */
export type Talk = 'greeting' | 'who' | 'help' | 'thanks' | 'farewell' | 'nod';

const speaker = String.raw`^\s*(?:[^\n:?!.]{1,40}:\s+)?`;
/** Before a command: politeness, and the name of who speaks where several do. */
const lead = String.raw`${speaker}(?:(?:please|hey|ok|okay|hi|hello)[,!]?\s+)*(?:(?:can|could|would) you\s+)?(?:please\s+)?`;
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

const greeting =
  /^(?:(?:hi|hiya|hello|hey|good (?:morning|afternoon|evening|day)|greetings|hallo|moin|servus|guten (?:morgen|tag|abend)|bonjour|salut|hola|ciao)(?:[ ,]+(?:there|again|all|everyone|loopkeep|loopd))?(?=[\s,.!?…]|$)[\s,.!?…]*)+/iu;
/** Each is the whole of what was said, but for marks around it. */
const talks: readonly (readonly [Talk, RegExp])[] = [
  [
    'who',
    /^(?:(?:so )?(?:who|what)(?: exactly)? are you|who(?:['’]s| is) (?:this|there)|what(?:['’]s| is) your name|are you (?:an? )?(?:real |actual )?(?:(?:language |ai )?model|llm|ai|bot|robot|chatbot|machine|human|person|program)|introduce yourself|how are you(?: doing| today)?|wer bist du|was bist du|wie geht(?:['’]s| es)(?: dir)?)$/iu,
  ],
  [
    'help',
    /^(?:\/?help(?: me)?|what can (?:you|i|we) do(?: here)?|what do you do|what else can you do|how (?:do|can|should) i use (?:you|this|it)|how (?:do you|does (?:this|it)) work|commands|hilfe|was kannst du)$/iu,
  ],
  [
    'thanks',
    /^(?:(?:ok(?:ay)?|great|good|perfect|no)[, ]+)?(?:thanks?(?: you)?|thx|ty|danke|merci|gracias)(?:[, ]+(?:you|so much|very much|a lot|again|schön|sehr|for .+))*$/iu,
  ],
  [
    'farewell',
    /^(?:good ?bye|bye(?:[ -]bye)?|see you(?: later| soon| tomorrow)?|good ?night|tschüss?|ciao)$/iu,
  ],
  [
    'nod',
    /^(?:ok(?:ay)?|great|good|nice|cool|fine|perfect|excellent|wonderful|al?right|all right|got it|i see|super|gut)$/iu,
  ],
];
const marksAround = /^[\s"“”'‘’([]+|[\s"“”'‘’)\].,!?…:;]+$/gu;

export function intentOf(message: string): Intent {
  const said = message.trim();
  const talk = talkOf(said) ?? talkOf(said.replace(new RegExp(speaker, 'u'), ''));
  if (talk !== undefined) return { kind: 'talk', talk };
  const text = said.replace(greeting, '').trim();
  const isQuestion = text.endsWith('?');
  const noted = remember.exec(text)?.groups?.['text'];
  if (noted !== undefined && !(isQuestion && /^\s*remember/i.test(text))) return remembered(noted);
  const gone = forget.exec(text)?.groups?.['text'];
  if (gone !== undefined && !isQuestion) return { kind: 'forget', text: withoutEnd(gone) };
  if (time.test(text)) return { kind: 'time' };
  if (everything.test(text)) return { kind: 'everything' };
  return { kind: 'ask', query: withoutEnd(about.exec(text)?.groups?.['text'] ?? text) };
}

function talkOf(said: string): Talk | undefined {
  const rest = said.replace(greeting, '').replaceAll(marksAround, '');
  if (rest === '') return said === '' ? undefined : 'greeting';
  return talks.find(([, pattern]) => pattern.test(rest))?.[0];
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
