/** Sessions that the fixed responder answers through the real turn loop, for its tests. */
import { BuiltinModel } from '../model/builtin.ts';
import { recallText } from '../tools/recall.ts';
import { ScriptedSession, scriptedBaseline, type ScriptedTool } from './scripted-turn.ts';

const block = `<memory>
What follows was noted in earlier sessions. Each line that begins with "- " is one note; lines indented below it belong to it.

memory.md, notes on the work and the world:
- The spare key is under the blue pot
- Wi-Fi
  password: see the fridge

user.md, notes on the person:
- I'm vegetarian
</memory>`;

export const baseline = {
  ...scriptedBaseline,
  system: `You are the assistant.\n\n${block}`,
  tools: ['clock', 'recall', 'memory'].map((name) => ({
    type: 'function' as const,
    function: { name, description: name, parameters: { type: 'object' } },
  })),
};

const saved = (args: Record<string, unknown>) =>
  JSON.stringify({
    ok: true,
    file: args['file'],
    changed: [{ before: args['old'] ?? null, after: args['text'] ?? null }],
  });
const nothing = recallText({
  hits: [],
  tier: 'exact',
  filters: {},
  index: { state: 'ok', behind: 0 },
  forgotten: 0,
} as never);

/** A session that the fixed responder answers, with tools that a test gives. */
export function session(tools: Record<string, ScriptedTool['run']> = {}) {
  const all: Record<string, ScriptedTool> = {
    memory: { effects: 'keyed', run: tools['memory'] ?? ((args) => ({ status: 'ok', text: saved(args) })) },
    recall: { run: tools['recall'] ?? (() => ({ status: 'ok', text: nothing })) },
    clock: {
      isVolatile: true,
      run: () => ({
        status: 'ok',
        text: '2026-11-30 14:05:09 Monday, UTC (UTC+00:00); 2026-11-30T14:05:09Z',
      }),
    },
  };
  const made = new ScriptedSession([], all, baseline);
  const model = new BuiltinModel();
  made.effects.ask = (request, onDelta, signal) => model.ask(request, { session: 's1', onDelta, signal });
  const called = () =>
    made.ofType('assistant').flatMap(({ calls = [] }) => calls.map((call) => [call.name, call.arguments]));
  return { made, called };
}

export const hit = (text: string, more: object = {}) => ({
  source: 'message',
  session: 'abc',
  record: 3,
  turn: 2,
  at: '2026-11-03T10:00:00.000Z',
  role: 'person',
  score: 1,
  text,
  before: [],
  after: [],
  ...more,
});
/** The same, where recall finds these. */
export const recalling = (hits: object[], more: object = {}) =>
  session({
    recall: () => {
      const reply = {
        hits,
        tier: 'all',
        filters: {},
        index: { state: 'ok', behind: 0 },
        forgotten: 0,
        ...more,
      };
      return { status: 'ok', text: recallText(reply as never) };
    },
  });
