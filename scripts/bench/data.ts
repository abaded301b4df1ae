/** Questions with known evidence: LoCoMo's and LongMemEval's files as sessions to index and questions to ask. */
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fieldsOf, listOf, textOf } from '../import/fields.ts';
import type { ImportedSession } from '../import/imported-session.ts';
import { jsonElements } from '../import/json-elements.ts';
import { isLocomo, locomoName, locomoSessions } from '../import/locomo.ts';
import { isLongmemeval, longmemevalSessions } from '../import/longmemeval.ts';

export interface Question {
  readonly text: string;
  /** As the benchmark numbers or names its kinds. */
  readonly category: string;
  /** Turns that hold the answer: `<session> <ref>`. Never empty. */
  readonly evidence: ReadonlySet<string>;
  readonly sessions: ReadonlySet<string>;
}

/** One history with what is asked about it. */
export interface Case {
  readonly id: string;
  readonly sessions: readonly ImportedSession[];
  readonly questions: readonly Question[];
}

export const turnKey = (session: string, ref: string) => `${session} ${ref}`;

/** Every case of a file, or of each JSON file in a folder. */
export async function* readCases(path: string): AsyncGenerator<Case, void, undefined> {
  const files = statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => name.endsWith('.json'))
        .toSorted()
        .map((name) => join(path, name))
    : [path];
  for (const file of files) {
    const name = basename(file, '.json');
    for await (const element of jsonElements(createReadStream(file))) {
      if (isLongmemeval(element)) yield longmemevalCase(element);
      else if (isLocomo(element)) yield locomoCase(element, name);
    }
  }
}

function locomoCase(element: unknown, name: string): Case {
  const sessions = [...locomoSessions(element, name)];
  const places = new Map<string, string>();
  for (const { id, records } of sessions)
    for (const record of records) if ('ref' in record && record.ref !== undefined) places.set(record.ref, id);
  const questions = listOf(fieldsOf(element)?.['qa']).flatMap((qa) => {
    const fields = fieldsOf(qa) ?? {};
    const found = listOf(fields['evidence'])
      .flatMap((evidence) => refsIn(String(evidence)))
      .flatMap((ref) => {
        const session = places.get(ref);
        return session === undefined ? [] : [{ ref, session }];
      });
    const text = textOf(fields['question']);
    if (text === undefined || found.length === 0) return [];
    return [
      {
        text,
        category: String(fields['category']),
        evidence: new Set(found.map(({ session, ref }) => turnKey(session, ref))),
        sessions: new Set(found.map(({ session }) => session)),
      },
    ];
  });
  return { id: locomoName(element, name), sessions, questions };
}

/** Evidence is written in several ways: `D8:6; D9:17`, `D9:1 D4:4`, `D:11:26`, `D30:05`. */
export function refsIn(evidence: string): string[] {
  return [...evidence.matchAll(/D:?(\d+):(\d+)/g)].map(
    ([, session, turn]) => `D${Number(session)}:${Number(turn)}`,
  );
}

function longmemevalCase(element: unknown): Case {
  const fields = fieldsOf(element) ?? {};
  const id = textOf(fields['question_id']) ?? 'question';
  const sessions = [...longmemevalSessions(element)];
  const ids = listOf(fields['haystack_session_ids']);
  const answers = new Set(listOf(fields['answer_session_ids']));
  const evidence = new Set<string>();
  const answering = new Set<string>();
  for (const [index, said] of listOf(fields['haystack_sessions']).entries()) {
    const session = `longmemeval-${id}_${textOf(ids[index]) ?? index}`;
    if (answers.has(ids[index])) answering.add(session);
    for (const [at, message] of listOf(said).entries()) {
      if (fieldsOf(message)?.['has_answer'] !== true) continue;
      evidence.add(turnKey(session, `${id}_${textOf(ids[index]) ?? index}:${at}`));
      answering.add(session);
    }
  }
  const text = textOf(fields['question']);
  const category = textOf(fields['question_type']) ?? 'question';
  // Questions whose answer is that there is none have nothing to be found.
  const questions =
    text === undefined || evidence.size === 0 ? [] : [{ text, category, evidence, sessions: answering }];
  return { id, sessions, questions };
}
