/** What a text has that a question may ask for: a time, a number, a person, a place; and whether it asks itself. */

/** Bits of a turn's flags; see `Columns`. */
export const cue = { question: 1, time: 2, number: 4, person: 8, place: 16 } as const;

/** What was attached to a message is described after its text, in brackets. */
const attachments = /(?:\s*\[[a-z]+: [^\]]*\])+\s*$/;
const asks = /[?\uff1f\u061f\u037e][\s\p{P}\p{S}\p{M}]*$/u;
const opensAsQuestion =
  /^\s*(?:who|whom|whose|what|when|where|why|which|how|do you|does|did|can you|could you|is there|are there)\b/i;
const questionWordsMax = 25;

const months =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?';
const weekdays = '(?:mon|tues|wednes|thurs|fri|satur|sun)days?';
const spans = 'seconds?|minutes?|hours?|days?|nights?|weeks?|weekends?|months?|years?|decades?|semesters?';
const time = new RegExp(
  `\\b(?:${months}|${weekdays}|yesterday|today|tonight|tomorrow|ago|recently|lately|soon|since|weekend|` +
    `(?:last|next|this|past|every|each|few|couple of|\\d+|two|three|four|five|six|seven) (?:${spans}|summer|winter|spring|fall|autumn|morning|evening|${months}|${weekdays})|` +
    `(?:19|20)\\d\\d|\\d\\d?:\\d\\d|\\d\\d? ?[ap]\\.?m)\\b`,
  'i',
);
const number =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|million|dozen|couple|both|several|once|twice|half|first|second|third)\b/i;
const person =
  /\b(?:mom|mum|mother|dad|father|parents?|sister|brother|siblings?|son|daughter|kids?|child(?:ren)?|wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|friends?|buddy|roommate|neighbou?rs?|colleagues?|coworkers?|boss|manager|teacher|coach|mentor|doctor|therapist|aunt|uncle|cousins?|grand(?:ma|pa|mother|father|parents|son|daughter)|family|team|mr|mrs|ms|dr)\b|[a-z,;] [A-Z][a-z]{2,}/;
const place =
  /\b(?:[Ii]n|[Aa]t|[Tt]o|[Ff]rom|[Nn]ear|[Aa]round|[Oo]ver|[Vv]isit(?:ed|ing)?) (?:the )?[A-Z][a-z]+|\b(?:city|town|village|country|park|beach|lake|river|mountains?|forest|island|restaurant|caf[eé]|bar|hotel|museum|gallery|theat(?:er|re)|school|college|university|library|office|hospital|clinic|church|gym|studio|store|shop|mall|market|station|airport|street|road|home|house|apartment|shelter|center|centre)\b/;

/** @param spoken by a person or an assistant: only then a question may come without its mark. */
export function cuesOf(text: string, { spoken }: { spoken: boolean }): number {
  const said = text.replace(attachments, '');
  let cues = 0;
  if (asks.test(said.slice(-20)) || (spoken && opensAsQuestion.test(said) && isShort(said)))
    cues |= cue.question;
  if (time.test(text)) cues |= cue.time;
  if (number.test(text)) cues |= cue.number;
  if (person.test(text)) cues |= cue.person;
  if (place.test(text)) cues |= cue.place;
  return cues;
}

function isShort(text: string): boolean {
  return text.length < 200 && text.split(/\s+/, questionWordsMax + 1).length <= questionWordsMax;
}

/** The cue that an answer to the question would have. */
export function askedCue(question: string): number {
  if (
    /\bhow (?:many|much|often|long|old|far|tall|big)\b|\bwhat (?:number|amount|percentage|price)\b/i.test(
      question,
    )
  ) {
    return /\bhow long\b/i.test(question) ? cue.time | cue.number : cue.number;
  }
  if (/\bwhen\b|\b(?:what|which) (?:day|date|time|month|year|week)\b/i.test(question)) return cue.time;
  if (/\bwho(?:m|se)?\b/i.test(question)) return cue.person;
  if (/\bwhere\b|\b(?:what|which) (?:city|country|place|state|town)\b/i.test(question)) return cue.place;
  return 0;
}
