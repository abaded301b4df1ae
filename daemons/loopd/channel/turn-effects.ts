/** What a turn of a session may do to the world, put together from the parts that do it. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Model } from '../model/model.ts';
import { decide, type AskPerson, type Deciders } from '../decide/decider.ts';
import type { Session } from '../session/session.ts';
import type { ToolSet } from '../tools/tool-set.ts';
import type { TurnEffects, TurnEvent } from '../turn/effects.ts';

interface EffectParts {
  readonly model: Model;
  readonly tools: ToolSet;
  readonly deciders: Deciders;
  readonly ask: AskPerson;
  readonly emit: (event: TurnEvent) => void;
}

/** A name that is unknown has no effects; the check of its arguments says what to call instead. */
const unknownTool = { effects: 'none', isVolatile: false } as const;

export function turnEffects(
  session: Session,
  { model, tools, deciders, ask, emit }: EffectParts,
): TurnEffects {
  return {
    ask: (request, onDelta, signal) => model.ask(request, { session: session.id, onDelta, signal }),
    decide: (call, turn, signal) => {
      const question = { session: session.id, turn, call, target: tools.targetOf(call) };
      return decide(deciders, question, { ask, signal });
    },
    prepare: (call) => tools.prepare(call),
    effectsOf: (name, args) => tools.effectsOf(name, args) ?? unknownTool,
    check: (name, args) => tools.check(name, args),
    run: (call, context) => tools.run(call, context),
    append: (body, options) => session.append(body, options),
    emit,
    // An end of the wait that comes early is told by the signal itself.
    sleep: (ms, signal) => wait(ms, undefined, { signal }).catch(() => undefined),
  };
}
