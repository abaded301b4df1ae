/** Whether an answer says that something was saved for later: a careful guess, for a hint and never for a refusal. */

const sentencesMax = 50;

/** Sentences that promise nothing: questions, offers, and whatever is negated. */
const excluded =
  /\?\s*$|n't(?!\p{L})|(?<!\p{L})(?:not|never|nothing|no|cannot|unable|failed|if you|would you|shall i|should i|do you want|i can|i could|nicht|nichts|nie|kein\w*|konnte|möchtest|soll ich|wenn du|pas|rien|impossible|voulez|veux-tu|ningun\w*|nada|quieres|puedo)(?!\p{L})/iu;

/** Unmistakable: memory itself is named, or remembering is promised. */
const memoryClaims = [
  /\b(?:i(?:'ve| have|'ll| will)?|it(?:'s| is| has been)?|that(?:'s| is| has been)?|this(?: is| has been)?)\b[^.!]*\b(?:saved|stored|added|written|recorded|put|noted|kept)\b[^.!]*\bmemor(?:y|ies)\b/iu,
  /^(?:\W*(?:ok(?:ay)?|got it|sure|done|great|alright|all right)\W+)?(?:saved|stored|added|recorded|noted)\b[^.!]*\bmemor(?:y|ies)\b/iu,
  /\bmemory (?:is |has been |was )?updated\b|\bupdated (?:my|your|the) memory\b/iu,
  /\bi(?:'ll| will)(?: make sure to| be sure to)? (?:remember|keep (?:that|this|it) in mind)\b/iu,
  /\bi(?:'ll not| will not| won't) forget\b/iu,
  /\bi(?:'ve| have) (?:remembered|memori[sz]ed|made a note)\b/iu,
  /\b(?:ich (?:werde mir|merke mir|habe mir)|ist (?:gespeichert|gemerkt|notiert)|habe (?:ich )?(?:es|das|dies)?\s*(?:gespeichert|notiert|gemerkt))\b/iu,
  /\b(?:je (?:m'en souviendrai|retiens|vais (?:m'en souvenir|retenir))|c'est (?:noté|enregistré|mémorisé)|j'ai (?:noté|enregistré|mémorisé))/iu,
  /\b(?:lo (?:recordaré|he guardado|he anotado)|(?:queda|quedó) (?:guardado|anotado)|he (?:guardado|anotado|memorizado))/iu,
];

/** Could also speak of a file that another tool wrote. */
const plainClaims = [
  /\bi(?:'ve| have)? (?:just )?(?:saved|stored|noted|recorded) (?:that|this|it|your|the)\b/iu,
  /\b(?:that|this|it)(?:'s| is| has been| was) (?:now )?(?:saved|stored|noted|recorded)\b/iu,
  /^(?:\W*(?:ok(?:ay)?|got it|sure|done|great|alright|all right)\W+)?(?:saved|stored|noted)(?:\W*$|[,:;–—-])/iu,
];

export function claimsSave(answer: string, { hasOtherEffects }: { hasOtherEffects: boolean }): boolean {
  const patterns = hasOtherEffects ? memoryClaims : [...memoryClaims, ...plainClaims];
  return sentencesOf(answer).some(
    (sentence) =>
      !excluded.test(withoutPromise(sentence)) && patterns.some((pattern) => pattern.test(sentence)),
  );
}

/** “I will not forget” is a promise, though it is negated. */
function withoutPromise(sentence: string): string {
  return sentence.replace(/\b(?:will not|won't) forget\b/iu, '').replaceAll(/\bno problem\b/giu, '');
}

/** Quotes and code say what others said. */
function sentencesOf(answer: string): string[] {
  const own = answer
    .replaceAll('’', "'")
    .replaceAll(/```[\s\S]*?(?:```|$)/g, ' ')
    .replaceAll(/^\s*>.*$/gm, ' ')
    .replaceAll(/"[^"\n]*"|“[^”\n]*”|„[^“\n]*“|«[^»\n]*»/g, ' ');
  return own
    .split(/(?<=[.!?。！？])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
    .slice(0, sentencesMax);
}
