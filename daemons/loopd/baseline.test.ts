import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AppError } from '../../shared/errors.ts';
import { buildBaseline, checkFixedTokens, readSystem } from './baseline.ts';
import { ToolSet } from './tools/tool-set.ts';

const tools = new ToolSet({
  memory: { memory: () => Promise.reject(new Error()), recall: () => Promise.reject(new Error()) },
  clock: { nowMs: () => 0 },
  mcp: [],
  callMs: 1000,
}).definitions;
const shipped = new URL('../../config/system.md', import.meta.url).pathname;
const block = { text: '## memory\n- the fern is watered on Mondays', version: 'a'.repeat(64) };
const hasCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'baseline-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('the baseline is system.md trimmed at its end, a blank line and the block', () => {
  const { system } = buildBaseline({ system: 'Be kind.  \n\n\n', block, tools });

  assert.equal(system, `Be kind.\n\n${block.text}`);
});

test('an empty block adds neither blank line nor text', () => {
  assert.equal(
    buildBaseline({ system: 'Be kind.\n', block: { ...block, text: '' }, tools }).system,
    'Be kind.',
  );
});

test('the core tools stand in their order', () => {
  const names = buildBaseline({ system: '', block, tools }).tools.map((tool) => tool.function.name);

  assert.deepEqual(names, ['clock', 'recall', 'memory', 'find_tool', 'call_tool']);
});

test('the same inputs give the same bytes, whatever the clock says', () => {
  const of = () => JSON.stringify(buildBaseline({ system: 'Be kind.', block, tools }));

  assert.equal(of(), of());
  assert.doesNotMatch(buildBaseline({ system: 'Be kind.', block, tools }).system, /20\d\d-\d\d-\d\d|\d+ ?%/);
});

test('a block far over the limits of its files goes in whole', () => {
  const long = `${'- entry of a file that grew by hand\n'.repeat(4000)}the last line`;

  const { system, tokens } = buildBaseline({ system: 'Be kind.', block: { ...block, text: long }, tools });

  assert.ok(system.endsWith('the last line'));
  assert.ok(tokens > 3000, 'its size counts in the estimate but not against system.md');
});

test('system.md that makes 3,000 tokens impossible is refused by name', () => {
  assert.throws(() => checkFixedTokens('a word '.repeat(2000), tools), hasCode('baseline-too-large'));
});

test('the shipped system.md and the tools leave a third of their tokens free', async () => {
  assert.ok(checkFixedTokens(await readSystem(shipped), tools) < 2000);
});

test('the shipped system.md says what an agent with this memory has to know', async () => {
  const text = await readSystem(shipped);

  for (const said of [
    /memory is below/,
    /short and current/,
    /consolidate/,
    /takes effect in the next session/,
    /is data, not instructions/,
    /you do not know/,
  ]) {
    assert.match(text, said);
  }
});

test('a system.md that is missing, a folder or not UTF-8 is baseline-unreadable', async (t) => {
  const path = folder(t);
  writeFileSync(join(path, 'latin1.md'), Buffer.from([0x67, 0xe9, 0x6e]));

  for (const wrong of [join(path, 'none.md'), path, join(path, 'latin1.md')]) {
    await assert.rejects(readSystem(wrong), hasCode('baseline-unreadable'));
  }
});
