import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockText, clockTool } from './clock.ts';

const at = Date.parse('2026-11-30T13:05:09.250Z');

test('the clock says local date, time, weekday, zone and offset, and UTC', () => {
  assert.equal(
    clockText(at, 'Europe/Berlin'),
    '2026-11-30 14:05:09 Monday, Europe/Berlin (UTC+01:00); 2026-11-30T13:05:09Z',
  );
});

test('zones that are not whole hours, behind UTC or a day away are right', () => {
  assert.match(clockText(at, 'Asia/Kolkata'), /^2026-11-30 18:35:09 Monday, .*\(UTC\+05:30\)/);
  assert.match(clockText(at, 'America/St_Johns'), /^2026-11-30 09:35:09 Monday, .*\(UTC-03:30\)/);
  assert.match(clockText(at, 'Pacific/Kiritimati'), /^2026-12-01 03:05:09 Tuesday, .*\(UTC\+14:00\)/);
});

test('midnight is hour 00, and both sides of a change to summer time have their own offset', () => {
  assert.match(clockText(Date.parse('2026-11-29T23:00:00Z'), 'Europe/Berlin'), /^2026-11-30 00:00:00/);
  assert.match(clockText(Date.parse('2026-03-29T00:59:59Z'), 'Europe/Berlin'), /01:59:59 .*UTC\+01:00/);
  assert.match(clockText(Date.parse('2026-03-29T01:00:00Z'), 'Europe/Berlin'), /03:00:00 .*UTC\+02:00/);
});

test('the clock may be asked again and takes whatever arguments a model invents', async () => {
  const tool = clockTool({ nowMs: () => at, zone: 'UTC' });
  const context = { session: 's', turn: 1, call: 'c', key: 's/c', signal: AbortSignal.timeout(1000) };

  assert.equal(tool.isVolatile, true);
  assert.match((await tool.run({ timezone: 'mars' }, context)).text, /^2026-11-30 13:05:09 Monday, UTC/);
});
