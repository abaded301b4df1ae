import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { MemoryParams } from '../../../shared/protocol/memoryd.ts';
import type { MemoryReply } from '../../../shared/protocol/replies.ts';
import { memoryTool } from './memory.ts';

const context = {
  session: 's1',
  turn: 2,
  call: 'c2.0.0',
  key: 's1/c2.0.0',
  signal: new AbortController().signal,
};
const saved: MemoryReply = {
  file: 'memory',
  version: 'f'.repeat(64),
  entries: ['tea is in the left cupboard'],
  used: 27,
  limit: 2200,
  changed: [{ before: null, after: 'tea is in the left cupboard' }],
};
const full = new AppError('memory-full', 'memory.md is full', {
  details: { used: 2190, limit: 2200, need: 2290, entries: ['a', 'b'] },
});

function toolOver(answer: () => MemoryReply) {
  const asked: MemoryParams[] = [];
  const memory = async (params: MemoryParams) => {
    asked.push(params);
    return answer();
  };
  return { tool: memoryTool({ memory }), asked };
}
const failing = (error: AppError) =>
  toolOver(() => {
    throw error;
  }).tool;

test('a write carries who wrote it and the key of its call, so that it happens once', async () => {
  const { tool, asked } = toolOver(() => saved);

  await tool.run({ action: 'add', file: 'memory', text: 'x' }, context);
  await tool.run(
    { action: 'add', file: 'memory', text: 'x' },
    { ...context, key: `${'s'.repeat(128)}/c1.0.0` },
  );

  assert.equal(tool.effects, 'keyed');
  assert.deepEqual(asked[0], {
    action: 'add',
    file: 'memory',
    text: 'x',
    origin: { session: 's1', turn: 2 },
    request_id: 's1/c2.0.0',
  });
  assert.match(
    String(asked[1]?.request_id),
    /^[0-9a-f]{64}$/,
    'a key too long for a request id keeps its identity',
  );
});

test('the answer says what changed and when it takes effect, as whole JSON however large the file', async () => {
  const { tool } = toolOver(() => ({
    ...saved,
    entries: Array.from({ length: 400 }, () => '汉字'.repeat(30)),
  }));

  const { status, text } = await tool.run({ action: 'add', text: 'x' }, context);

  const reply = JSON.parse(text) as MemoryReply;
  assert.equal(status, 'ok');
  assert.ok(Buffer.byteLength(text) <= 7000);
  assert.deepEqual(reply.changed, saved.changed);
  assert.match(String(reply.note), /takes effect in the next session/);
});

test('a full file comes back with its entries and what to do, so that the same turn can consolidate', async () => {
  const { status, text } = await failing(full).run({ action: 'add', text: 'x' }, context);

  assert.equal(status, 'error');
  const { error, entries, used, limit, need, hint } = JSON.parse(text) as Record<string, unknown>;
  assert.deepEqual({ error, entries, used, limit, need }, { error: 'memory-full', ...full.details });
  assert.match(String(hint), /Consolidate now/);
});

test('arguments that memoryd finds wrong are named for the model', async () => {
  const { tool } = toolOver(() => {
    throw new ParamsError('file', 'file is missing: "memory" or "user"');
  });

  const { status, text } = await tool.run({ action: 'remove', old: 'x' }, context);

  assert.equal(status, 'error');
  assert.match(text, /"error":"wrong-arguments","field":"file","message":"file is missing/);
});

test('a file that stays full ends the attempts of a turn, and the next turn may try again', async () => {
  const tool = failing(full);
  const hints: string[] = [];
  for (const turn of [2, 2, 2, 2, 3]) {
    const { text } = await tool.run({ action: 'add', text: 'x' }, { ...context, turn });
    hints.push((JSON.parse(text) as { hint: string }).hint);
  }

  assert.deepEqual(
    hints.map((hint) => /Do not try again in this turn/.test(hint)),
    [false, false, true, true, false],
  );
});

test('the names that small models use reach memoryd as they are', async () => {
  const { tool, asked } = toolOver(() => saved);
  const args = { action: 'replace', target: 'user', old_string: 'a', content: 'b' };

  assert.equal(tool.check?.(args), undefined);
  await tool.run(args, context);

  const { origin: _origin, request_id: _id, ...sent } = asked[0] ?? {};
  assert.deepEqual(sent, args);
});

test('a new entry without a file is a fact for memory.md; a change of an old one has to say where it is', async () => {
  const { tool, asked } = toolOver(() => saved);

  await tool.run({ action: 'add', text: 'x' }, context);
  await tool.run({ action: 'add', target: 'user', text: 'x' }, context);
  await tool.run({ action: 'remove', old: 'x' }, context);

  assert.deepEqual(
    asked.map(({ file }) => file),
    ['memory', undefined, undefined],
  );
});

test('every name in the schema that the model sees is accepted, and others are answered with the names', () => {
  const { tool } = toolOver(() => saved);
  const { properties } = tool.definition.function.parameters as { properties: Record<string, unknown> };
  const samples: Record<string, unknown> = {
    action: 'add',
    file: 'user',
    entries: ['a'],
    operations: [{ action: 'view' }],
  };

  for (const name of Object.keys(properties))
    assert.equal(tool.check?.({ [name]: samples[name] ?? 'x' }), undefined);
  assert.match(
    tool.check?.({ action: 'add', value: 'x' }) ?? '',
    /^value is not a known field\. Accepted: action, file, text/,
  );
});
