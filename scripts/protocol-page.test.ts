/** Goal: the protocol page says what the tables say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { protocolPage } from './protocol-page.ts';

test('runbook/protocol.md is what the tables print', () => {
  assert.equal(readFileSync(new URL('../runbook/protocol.md', import.meta.url), 'utf8'), protocolPage());
});
