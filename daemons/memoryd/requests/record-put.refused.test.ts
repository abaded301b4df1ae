/** Goal: whatever is wrong with a record is refused by field and value, and nothing of it is stored. Method: one row for each rule. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import { kindNames, recordKinds, type KindName } from '../../../shared/protocol/records.ts';
import { beside, PlaneFixture, sparse } from '../plane/plane-fixture.ts';

interface Row {
  readonly says: string;
  readonly kind: KindName;
  readonly change: object;
  readonly field: string;
  readonly beside?: object;
  /** Where it is not simply what was sent in that field. */
  readonly value?: unknown;
}

const long = 'x'.repeat(513);
const cut = `${'x'.repeat(200)}…`;

const rows: Row[] = [
  { says: 'a blank run_id of an episode', kind: 'episode', change: { run_id: '' }, field: 'run_id' },
  { says: 'a blank node_id of an episode', kind: 'episode', change: { node_id: ' \t\n' }, field: 'node_id' },
  {
    says: 'a blank provider_id',
    kind: 'episode',
    change: { provider_id: '\u3000\u0085' },
    field: 'provider_id',
  },
  { says: 'a blank target', kind: 'goal_state', change: { target: ' ' }, field: 'target' },
  { says: 'more passed than there are', kind: 'goal_state', change: { passed: 5 }, field: 'total', value: 4 },
  { says: 'more failed than are left', kind: 'goal_state', change: { failed: 4 }, field: 'total', value: 4 },
  { says: 'a blank run_id of a ledger entry', kind: 'ledger', change: { run_id: ' ' }, field: 'run_id' },
  {
    says: 'a blank run_id of a checkpoint',
    kind: 'checkpoint',
    change: { run_id: '\ufeff' },
    field: 'run_id',
  },
  { says: 'a blank run_id of a note', kind: 'scratchpad', change: { run_id: '' }, field: 'run_id' },
  { says: 'a blank key of a note', kind: 'scratchpad', change: { key: ' ' }, field: 'key' },
  {
    says: 'a note over 1 MiB',
    kind: 'scratchpad',
    change: { value: 'x'.repeat(1024 * 1024 + 1) },
    field: 'value',
    value: cut,
  },
  {
    says: 'a note over 1 MiB in bytes alone',
    kind: 'scratchpad',
    change: { value: 'é'.repeat(512 * 1024 + 1) },
    field: 'value',
    value: `${'é'.repeat(200)}…`,
  },
  { says: 'a blank run_id of a summary', kind: 'summary', change: { run_id: '' }, field: 'run_id' },
  { says: 'a blank skill', kind: 'skill_trial', change: { skill: '' }, field: 'skill' },
  { says: 'a pass rate under 0', kind: 'skill_trial', change: { pass_rate: -0.01 }, field: 'pass_rate' },
  { says: 'a pass rate over 1', kind: 'skill_trial', change: { pass_rate: 1.01 }, field: 'pass_rate' },
  { says: 'a pass rate that is null', kind: 'skill_trial', change: { pass_rate: null }, field: 'pass_rate' },
  { says: 'a pass rate that is text', kind: 'skill_trial', change: { pass_rate: '0.5' }, field: 'pass_rate' },
  {
    says: 'a pass rate without end',
    kind: 'skill_trial',
    change: { pass_rate: JSON.parse('1e999') },
    field: 'pass_rate',
  },
  { says: 'a blank run_id of a proposal', kind: 'proposal', change: { run_id: '' }, field: 'run_id' },
  { says: 'a kind of proposal that is none', kind: 'proposal', change: { kind: 'burn_it' }, field: 'kind' },
  {
    says: 'a kind of ledger entry that is none',
    kind: 'ledger',
    change: { kind: 'Run_Started' },
    field: 'kind',
  },
  { says: 'a run_id over 512 bytes', kind: 'ledger', change: { run_id: long }, field: 'run_id', value: cut },
  {
    says: 'a target over 512 bytes',
    kind: 'goal_state',
    change: { target: long },
    field: 'target',
    value: cut,
  },
  {
    says: 'a key over 512 bytes in bytes alone',
    kind: 'scratchpad',
    change: { key: '😀'.repeat(129) },
    field: 'key',
    value: `${'😀'.repeat(100)}…`,
  },
  {
    says: 'a run_id over 512 bytes beside a goal',
    kind: 'goal_state',
    change: {},
    beside: { run_id: long },
    field: 'run_id',
    value: cut,
  },
  {
    says: 'a blank run_id beside a goal',
    kind: 'goal_state',
    change: {},
    beside: { run_id: ' ' },
    field: 'run_id',
    value: ' ',
  },
  {
    says: 'no run_id beside a goal',
    kind: 'goal_state',
    change: {},
    beside: {},
    field: 'run_id',
    value: null,
  },
  { says: 'a run_id inside a goal', kind: 'goal_state', change: { run_id: 'r' }, field: 'run_id' },
  {
    says: 'another run_id beside an episode',
    kind: 'episode',
    change: {},
    beside: { run_id: 'q' },
    field: 'run_id',
    value: 'q',
  },
  {
    says: 'another run_id beside a trial',
    kind: 'skill_trial',
    change: {},
    beside: { run_id: 'q' },
    field: 'run_id',
    value: 'q',
  },
  {
    says: 'a blank run_id beside a note',
    kind: 'scratchpad',
    change: {},
    beside: { run_id: '' },
    field: 'run_id',
    value: '',
  },
  { says: 'a count below 0', kind: 'goal_state', change: { passed: -1 }, field: 'passed' },
  { says: 'half a token', kind: 'episode', change: { tokens: 1.5 }, field: 'tokens' },
  { says: 'a cost below 0', kind: 'episode', change: { cost_usd: -1 }, field: 'cost_usd' },
  { says: 'a time that is text', kind: 'ledger', change: { created_ms: '2026-11-30' }, field: 'created_ms' },
  {
    says: 'a number past what is exact',
    kind: 'summary',
    change: { iteration: 2 ** 53 },
    field: 'iteration',
  },
  { says: 'satisfied as text', kind: 'goal_state', change: { satisfied: 'true' }, field: 'satisfied' },
  {
    says: 'a list with something else in it',
    kind: 'summary',
    change: { facts: ['a', 1] },
    field: 'facts.1',
    value: 1,
  },
  {
    says: 'revisions that do not count',
    kind: 'checkpoint',
    change: { revisions: { n: 'x' } },
    field: 'revisions.n',
    value: 'x',
  },
  {
    says: 'a nested value, shortened',
    kind: 'scratchpad',
    change: { value: { deep: long } },
    field: 'value',
    value: `{"deep":"${'x'.repeat(191)}…`,
  },
  {
    says: 'a name that is data elsewhere',
    kind: 'episode',
    change: JSON.parse('{"__proto__":1}'),
    field: '__proto__',
    value: 1,
  },
];

/** The fields as they are, with `__proto__` a field like any other. */
function changed(kind: KindName, change: object): object {
  return Object.fromEntries([...Object.entries(sparse[kind]), ...Object.entries(change)]);
}

async function refusal(plane: PlaneFixture, row: Row, role?: Role): Promise<AppError> {
  const before = await plane.store.keys();
  const error: unknown = await plane
    .put(row.kind, changed(row.kind, row.change), row.beside ?? beside(row.kind), role)
    .then(
      () => assert.fail(`${row.says} was stored`),
      (thrown: unknown) => thrown,
    );
  assert.ok(error instanceof AppError, String(error));
  assert.deepEqual(await plane.store.keys(), before, 'nothing is stored');
  assert.deepEqual(plane.store.commits, []);
  assert.deepEqual(plane.told, []);
  return error;
}

for (const row of rows) {
  test(`${row.says} is refused by name, and nothing is stored`, async () => {
    const error = await refusal(await PlaneFixture.open(), row);
    const sent = (row.change as Record<string, unknown>)[row.field];
    const value =
      'value' in row ? row.value : typeof sent === 'number' && !Number.isFinite(sent) ? sent : sent;
    assert.equal(error.code, 'rejected');
    assert.equal(error.details['field'], row.field);
    assert.deepEqual(error.details['value'], value);
    assert.equal(error.details['kind'], row.kind);
    assert.match(error.message, new RegExp(`^${row.kind} not stored: ${row.field} `));
  });
}

for (const kind of kindNames) {
  test(`a field that ${kind} does not have is refused by name`, async () => {
    const error = await refusal(await PlaneFixture.open(), {
      says: 'unknown',
      kind,
      change: { colour: 'red' },
      field: 'colour',
    });
    assert.equal(error.code, 'rejected');
    assert.equal(error.details['field'], 'colour');
    assert.equal(error.details['value'], 'red');
  });

  test(`each field that ${kind} must have is missed by name when it is absent or null`, async () => {
    const plane = await PlaneFixture.open();
    for (const field of Object.keys(sparse[kind])) {
      const { [field]: _, ...rest } = sparse[kind] as Record<string, unknown>;
      await assert.rejects(plane.put(kind, rest, beside(kind)), {
        code: 'rejected',
        details: { kind, field, value: null },
      });
      const error = await refusal(plane, { says: 'null', kind, change: { [field]: null }, field });
      assert.deepEqual([error.code, error.details['field']], ['rejected', field]);
    }
  });

  test(`a field of ${kind} that holds an object where there is none is refused by name`, async () => {
    const plane = await PlaneFixture.open();
    const fields = Object.keys(recordKinds[kind].value['properties'] as object).filter(
      (field) => field !== 'revisions',
    );
    for (const field of fields) {
      const error = await refusal(plane, { says: 'object', kind, change: { [field]: { a: 1 } }, field });
      assert.deepEqual(
        [error.code, error.details['field'], error.details['value']],
        ['rejected', field, { a: 1 }],
      );
    }
  });
}

for (const role of ['loop', 'ops'] as const) {
  test(`${role} may not say that a goal is met, also in a record that is wrong otherwise`, async () => {
    const plane = await PlaneFixture.open();
    for (const change of [{}, { passed: 5 }, { target: '' }, { colour: 'red' }]) {
      const row = {
        says: 'satisfied',
        kind: 'goal_state',
        change: { satisfied: true, ...change },
        field: 'satisfied',
      } as const;
      const error = await refusal(plane, row, role);
      assert.equal(error.code, 'not-permitted');
      assert.deepEqual(error.details, { field: 'satisfied', value: true, role });
    }
  });
}

test('the gate says that a goal is met, and takes it back', async () => {
  const plane = await PlaneFixture.open();
  const satisfied = async () =>
    (await plane.call('record/get', { kind: 'goal_state', run_id: 'r', target: 't' })).record?.['satisfied'];

  await plane.put('goal_state', { ...sparse.goal_state, satisfied: true }, { run_id: 'r' }, 'gate');
  assert.equal(await satisfied(), true);

  await plane.put('goal_state', sparse.goal_state, { run_id: 'r' }, 'gate');
  assert.equal(await satisfied(), false);
});
