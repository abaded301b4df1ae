/**
 * Every number that ranking is made of. Measured on LoCoMo, ten public conversations of 272 sessions (Maharana and
 * others, ACL 2024): values were tuned on five of them. A gain is in points of turn recall at 5 / turn recall at 10 /
 * session recall at 5 for the whole part, on the other five where nothing else is said, with values near these. The
 * results lie on plateaus: a weight moved by a third changes less than the standard error of 1.3 points.
 */
export const weights = {
  /** Saturation and length of BM25 (Robertson and others, 1994): tuned 1.2/0.75 → here +1.2 / +1.9 / -1.1, flat around. */
  saturation: 0.8,
  lengthShare: 0.15,

  /**
   * How much of a term's count in a neighbouring turn counts here, by distance: what is said before an answer names
   * what the answer is about. +11.5 / +9.3 / +1.3, the largest gain of all.
   */
  fromBefore: [0.25, 0.25, 0.1, 0.1],
  fromAfter: [0.4, 0.2, 0.05, 0.05],
  /** In place of the first of `fromBefore` where the turn before asks; over 1, as the answer is what is looked for: against 0.6 +0.8 / +0.3 / +0.1 on the five tuned on. */
  fromQuestion: 1.3,
  /** Expansions and common terms reach this far only; it halves their cost and loses nothing. */
  nearReach: 1,

  /** The session as a whole, scored like a text: +0.4 / +0.9 / -0.2. */
  session: 0.3,
  sessionSaturation: 1.2,
  sessionLengthShare: 0.3,

  /** A named speaker's own turn, and sessions that not everybody takes part in: +4.2 / +3.8 / +0.2. */
  ownTurn: 1.7,
  participant: 0.75,
  /** The person's turns where the query says I, the assistant's where it says you: small, as LoCoMo cannot tell. */
  ownRole: 1.15,
  /** A turn that asks is less of an answer: +1.3 / +1.2 / +0.2. */
  question: 0.87,
  /** A time in the query against the time of the turn: +2.4 / +1.8 / +1.9. */
  date: 4,
  dayAfterDays: 10,
  dayBeforeDays: 3,
  monthAfter: 0.5,
  monthBefore: 0.2,
  yearOnly: 0.3,
  /** The turn has a time, a number, a person or a place where the query asks for one: +0.5 / +1.3 / -0.2. */
  answerType: 1.4,

  /** Words that frame a question, as in "what kind of", "did I mention": session recall at 5 +0.5 on the five tuned on. */
  framing: 0.4,
  /** Nearest words of each term: +0.6 / +0.6 / +0.3. */
  near: 0.2,
  nearCosineMin: 0.5,
  nearMax: 5,
  /** Words spelt alike, for terms in hardly any turn: +0.2 / +0.6 / +0.4; with a typo in each query +3.3 / +2.2. */
  alike: 1.2,
  alikeUnseen: 0.8,
  alikeMin: 0.5,
  alikeMax: 4,
  alikeTurnsMax: 2,
  /** Sessions of schedules and sub-agents, and runs, are found below what people said themselves. */
  origin: { person: 1, run: 0.6, schedule: 0.4, agent: 0.4 },
  /** In an index of more turns than this, a term in a larger share of them is no expansion, and reaches as near as one. */
  commonFromTurns: 20_000,
  commonShare: 0.03,

  /** Second stage, on the best of the first. */
  rerankTurns: 200,
  /** Of them the texts of so many are read back, for their pairs; with all of them no figure is another. */
  readTurns: 20,
  /** Neighbours in the query that are neighbours in the turn: +0.2 / +0.4 / -0.3. */
  pairs: 0.25,
  /** Likeness of meaning with its neighbours, by averaged word vectors: +1.1 / +1.5 / +0.2. */
  meaning: 0.1,
  meaningBefore: [0.3, 0.2],
  meaningAfter: [0.3, 0.1],
};
