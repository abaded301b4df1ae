import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestNames, rank } from './ranking.ts';

const of = (name: string, description: string, words = '') => ({ name, description, words });
const all = [
  of('fs/read_text_file', 'Read the complete contents of a file as text', 'path head tail'),
  of('fs/write_file', 'Create a new file or overwrite an existing file', 'path content'),
  of('fs/list_directory', 'List files and directories', 'path'),
  of('graph/create_entities', 'Create new entities in the knowledge graph', 'entities'),
  of('web/fetchPage', 'Load a page', 'url'),
];
const best = (query: string) => rank(query, all)[0]?.name;

test('a tool is found by its name, by what it does, by its arguments and by how words begin', () => {
  assert.equal(best('read a file'), 'fs/read_text_file');
  assert.equal(best('overwrite'), 'fs/write_file');
  assert.equal(best('url'), 'web/fetchPage');
  assert.equal(best('fetching pages'), 'web/fetchPage');
  assert.equal(best('knowledge entity'), 'graph/create_entities');
  assert.equal(best('fs/list_directory'), 'fs/list_directory');
});

test('a rare word decides over common ones', () => {
  assert.equal(best('file path directories'), 'fs/list_directory');
});

test('a query that fits nothing finds nothing, and marks or nothing at all are no error', () => {
  for (const query of ['zebra', '', '"(*', 'the a of']) assert.deepEqual(rank(query, all), []);
});

test('a misspelt or shortened name leads to the names it may have been', () => {
  const names = all.map(({ name }) => name);

  assert.equal(nearestNames('read_text_flie', names, 3)[0], 'fs/read_text_file');
  assert.equal(nearestNames('fs/writefile', names, 3)[0], 'fs/write_file');
  assert.equal(nearestNames('list', names, 3)[0], 'fs/list_directory');
  assert.deepEqual(nearestNames('zzzzzzzzzz', names, 3), []);
});
