/** memory: views and changes the two curated files, and answers in JSON so that a turn's records say what was written. */
import { createHash } from 'node:crypto';
import { toAppError, type AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { memoryActions, type MemoryParams } from '../../../shared/protocol/memoryd.ts';
import { curatedFiles, type MemoryReply } from '../../../shared/protocol/replies.ts';
import { list, object, oneOf, text } from '../../../shared/schema.ts';
import type { MemoryLink } from '../memory.ts';
import { argumentCheck, tidied } from './arguments.ts';
import { clip } from './clip.ts';
import type { Tool, ToolContext, ToolOutcome } from './tool.ts';

const timeoutMs = 20_000;
/** What is recorded of a result is capped there; what is over this leaves details out, so that the JSON stays whole. */
const replyBytesMax = 7_000;
const operationsMax = 100;
/** After so many refusals in one turn the answer is final: a full file must not cost a turn all its steps. */
const refusalsMax = 3;
const turnsWatchedMax = 256;

const described = (schema: object, description: string) => ({ ...schema, description });
const change = {
  text: described(text(), 'The new entry, for add and replace.'),
  old: described(text(), 'Text that finds the one entry to replace or remove.'),
  entries: described(list(text()), 'For consolidate: all entries the file shall hold.'),
  expect: described(text(), 'For consolidate: the version last seen.'),
};
const action = oneOf(...memoryActions);

const parameters = object(
  {},
  {
    action,
    file: described(oneOf(...curatedFiles), 'For add, memory if left out.'),
    ...change,
    operations: described(
      list(object({ action }, { file: text(), text: text(), old: text() })),
      'Several changes of one file, all or nothing.',
    ),
    reason: text(),
  },
);

/** Names that small models use instead; they are understood though the model is not told of them. */
const aliases = { target: text(), content: text(), new_text: text(), old_text: text(), old_string: text() };
const accepted = object(
  {},
  {
    action,
    file: text(),
    text: text(),
    old: text(),
    entries: list(text()),
    expect: text(),
    ...aliases,
    operations: list(
      object(
        { action },
        { file: text(), text: text(), old: text(), entries: list(text()), expect: text(), ...aliases },
      ),
      { minItems: 1, maxItems: operationsMax },
    ),
    reason: text(),
  },
);

export function memoryTool(memory: Pick<MemoryLink, 'memory'>): Tool {
  const refusals = new Refusals();
  return {
    definition: {
      type: 'function',
      function: {
        name: 'memory',
        description:
          'Your lasting memory: file "user" (who the person is) and file "memory" (facts, decisions, how-to). ' +
          'view; add text; replace the whole entry that contains old by text; remove the entry that contains old; ' +
          'consolidate to exactly entries; undo the last change. Takes effect in the next session.',
        parameters,
      },
    },
    effects: 'keyed',
    timeoutMs,
    check: argumentCheck(accepted),
    run: async (args, context) => {
      const { session, turn, key } = context;
      const wanted = withFile(tidied(args, accepted));
      try {
        const reply = await memory.memory({
          ...wanted,
          origin: { session, turn },
          request_id: requestIdOf(key),
        });
        return { status: 'ok', text: replyText(reply) };
      } catch (thrown) {
        return thrown instanceof ParamsError
          ? wrongArguments(thrown)
          : refused(toAppError(thrown), refusals.count(context));
      }
    },
  };
}

/** A new entry without a file is a fact like any other; whatever touches old ones must say where they are. */
function withFile(wanted: MemoryParams): MemoryParams {
  const { action, file, target } = wanted;
  return action === 'add' && file === undefined && target === undefined
    ? { ...wanted, file: 'memory' }
    : wanted;
}

const requestIdCharsMax = 128;

/** The call's key; one that is too long for a request id keeps its identity as a digest. */
function requestIdOf(key: string): string {
  return key.length <= requestIdCharsMax ? key : createHash('sha256').update(key).digest('hex');
}

function replyText({ file, changed, used, limit, version, note, entries }: MemoryReply): string {
  const head = { ok: true, file, changed, used, limit, version };
  const effect = changed.length > 0 ? 'Saved. It takes effect in the next session.' : 'Nothing was changed.';
  const tail = { note: note === undefined ? effect : `${effect} ${note}` };
  return fitting([
    { ...head, ...tail, entries },
    { ...head, ...tail },
    { ...head, changed: changed.map(shortened), ...tail },
  ]);
}

/** What only memoryd can judge, such as a file that is missing where one is needed. */
function wrongArguments({ field, message }: ParamsError): ToolOutcome {
  const hint = 'Nothing was saved. Correct the arguments and call again.';
  return { status: 'error', text: JSON.stringify({ error: 'wrong-arguments', field, message, hint }) };
}

function refused(error: AppError, refusalsSoFar: number): ToolOutcome {
  const { code, message, details } = error;
  const { entries, ...others } = details;
  const head = { error: code, message, ...others };
  const tail = { hint: hintOf(code, refusalsSoFar) };
  return {
    status: 'error',
    text: fitting([
      { ...head, ...tail, entries },
      { ...head, ...tail },
      { error: code, ...tail },
    ]),
  };
}

function hintOf(code: string, refusalsSoFar: number): string {
  if (refusalsSoFar >= refusalsMax) {
    return 'Nothing was saved. Do not try again in this turn: tell the person that it was not saved, and why.';
  }
  switch (code) {
    case 'memory-full':
      return 'Nothing was saved. Consolidate now: merge or drop entries, then add again, or do both in one call with operations.';
    case 'memory-changed':
      return 'Nothing was saved. The file changed meanwhile: work from the entries given here and their version.';
    case 'memory-ambiguous':
    case 'memory-no-match':
      return 'Nothing was saved. Give an `old` that stands in exactly one of the entries.';
    case 'memory-refused':
      return 'Nothing was saved. Change the text as the message says.';
    default:
      return 'Nothing was saved, or it is not known whether it was. Tell the person.';
  }
}

/** The first of the candidates, each shorter than the one before, that fits. */
function fitting(candidates: readonly object[]): string {
  const texts = candidates.map((candidate) => JSON.stringify(candidate));
  return texts.find((json) => Buffer.byteLength(json) <= replyBytesMax) ?? texts.at(-1) ?? '{}';
}

const shownCharsMax = 160;

function shortened({ before, after }: MemoryReply['changed'][number]): MemoryReply['changed'][number] {
  const short = (entry: string | null) => (entry === null ? null : clip(entry, shownCharsMax));
  return { before: short(before), after: short(after) };
}

/** How often memory was refused in each of the turns that run. */
class Refusals {
  readonly #counts = new Map<string, number>();

  count({ session, turn }: ToolContext): number {
    const key = `${session}/${turn}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.delete(key);
    this.#counts.set(key, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > turnsWatchedMax && oldest !== undefined) this.#counts.delete(oldest);
    return count;
  }
}
