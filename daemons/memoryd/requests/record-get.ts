/** record/get: one record of a kind that replaces, at once, or null. */
import { ParamsError } from '../../../shared/params-error.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { recordKinds, type KeyPart, type ReplacedKind } from '../../../shared/protocol/records.ts';
import { RawJson } from '../../../shared/raw-json.ts';
import { checkKeyPart } from '../plane/check.ts';
import { readBackJson } from '../plane/complete.ts';
import type { PlaneContext } from '../plane/context.ts';
import { importedMark, withMark } from '../plane/imported-mark.ts';
import { keyOf } from '../plane/keys.ts';

type Get = Params<MemorydProtocol, 'record/get'>;
type Reply = RawJson<Result<MemorydProtocol, 'record/get'>>;

const none: Reply = new RawJson('{"record":null}');

/** @throws AppError store-damaged, with the key, where the record cannot be read */
export function recordGet(params: Get, { store, nowMs }: Pick<PlaneContext, 'store' | 'nowMs'>): Reply {
  const { kind, run_id: run, target, key: name, iteration } = params;
  checkParts(kind, params);
  const key = keyOf(kind, { run, ...({ target, key: name, iteration } as { iteration: number }) });
  const stored = store.get(key);
  if (stored === undefined) return none;
  const isImported = kind === 'goal_state' && store.get(importedMark(key)) !== undefined;
  return new RawJson(`{"record":${withMark(readBackJson(kind, stored.json, nowMs()), isImported)}}`);
}

const selectors = ['target', 'key', 'iteration'] as const;

/** Each kind is asked for by the parts of its own key, and by no others. */
function checkParts(kind: ReplacedKind, params: Get): void {
  const wanted: readonly KeyPart[] = recordKinds[kind].key;
  checkKeyPart(kind, 'run_id', params.run_id);
  for (const part of selectors) {
    const isGiven = params[part] !== undefined;
    if (isGiven && !wanted.includes(part)) {
      throw new ParamsError(part, `${part} is no part of the key of a ${kind}`, params[part]);
    }
    if (!isGiven && wanted.includes(part)) {
      throw new ParamsError(part, `${part} is missing: a ${kind} is asked for by it`);
    }
    checkKeyPart(kind, part, params[part]);
  }
}
