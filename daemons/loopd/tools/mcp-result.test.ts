import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderResult } from './mcp-result.ts';

test('text stays as it is, and what a text model cannot take is named with type and size', () => {
  const content = [
    { type: 'text', text: 'two lines\nof text' },
    { type: 'image', mimeType: 'image/png', data: Buffer.alloc(300).toString('base64') },
    { type: 'resource', resource: { uri: 'note://1', text: 'inside' } },
    { type: 'resource', resource: { uri: 'blob://2', blob: Buffer.alloc(9).toString('base64') } },
    { type: 'resource_link', name: 'more', uri: 'note://3' },
  ];

  assert.deepEqual(renderResult({ content }).text.split('\n'), [
    'two lines',
    'of text',
    '[image: image/png, 300 bytes, not shown]',
    '[resource note://1]',
    'inside',
    '[resource blob://2: binary, 9 bytes, not shown]',
    '[link more: note://3]',
  ]);
});

test('a result with structure alone is its JSON, and one with neither says so', () => {
  assert.equal(renderResult({ content: [], structuredContent: { sum: 5 } }).text, '{"sum":5}');
  assert.equal(renderResult({ toolResult: [1] }).text, '[1]');
  assert.match(renderResult({ content: [] }).text, /answered with nothing/);
});

test("a server's error is an error", () => {
  assert.equal(
    renderResult({ content: [{ type: 'text', text: 'no such file' }], isError: true }).status,
    'error',
  );
});
