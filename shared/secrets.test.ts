/** Goal: well-known key shapes are found wherever they stand, and ordinary text is left alone. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import fc from 'fast-check';
import { findSecrets, redactSecrets } from './secrets.ts';

/** Letters and digits without a meaning, the same in every run. */
function filler(
  length: number,
  alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
): string {
  let text = '';
  for (let at = 0; text.length < length; at += 1) {
    for (const byte of createHash('sha256').update(`filler ${at}`).digest())
      text += alphabet[byte % alphabet.length] ?? '';
  }
  return text.slice(0, length);
}

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const hex = '0123456789abcdef';

/** Put together here, so that no scanner takes this file for a leak. */
const examples: Record<string, string> = {
  'slack, a short one': 'xoxb-1-a-b',
  'authorization of letters': `Authorization: Basic ${'abcdef'.repeat(2)}`,
  'aws-key-id': `AKIA${filler(16, upper)}`,
  aws: `aws_secret_access_key = ${filler(40)}`,
  github: `ghp_${filler(36)}`,
  'github fine-grained': `github_pat_${filler(82)}`,
  gitlab: `glpat-${filler(20)}`,
  slack: `xoxb-${filler(12, '0123456789')}-${filler(24)}`,
  openai: `sk-${filler(48)}`,
  'openai project': `sk-proj-${filler(64)}`,
  anthropic: `sk-ant-api03-${filler(93)}AA`,
  'google-api-key': `AIza${filler(35)}`,
  stripe: `sk_live_${filler(24)}`,
  npm: `npm_${filler(36)}`,
  'npm file': `//registry.npmjs.org/:_authToken=${filler(36)}`,
  huggingface: `hf_${filler(34, letters)}`,
  sendgrid: `SG.${filler(22)}.${filler(43)}`,
  digitalocean: `dop_v1_${filler(64, hex)}`,
  tailscale: `tskey-auth-${filler(12)}-${filler(32)}`,
  'telegram-bot': `${filler(10, '123456789')}:AA${filler(33)}`,
  age: `AGE-SECRET-KEY-1${filler(58, upper)}`,
  jwt: `eyJ${filler(20)}.eyJ${filler(60)}.${filler(43)}`,
  basicauth: `https://ann:${filler(12)}@example.com/repo.git`,
  'database-connection-string': `postgres://ann:${filler(12)}@db.example.com/home`,
  authorization: `Authorization: Bearer ${filler(32)}`,
  privatekey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${filler(64)}\n${filler(64)}\n-----END OPENSSH PRIVATE KEY-----`,
  'cut privatekey': `-----BEGIN RSA PRIVATE KEY-----\n${filler(64)}`,
};

for (const [name, example] of Object.entries(examples)) {
  test(`a credential of the shape ${name} is found between other words`, () => {
    const text = `🙂 the key is ${example} and more`;
    const [found, ...others] = findSecrets(text);
    assert.ok(found, 'not found');
    assert.equal(others.length, 0);
    const redacted = redactSecrets(text);
    assert.match(redacted, /^🙂 the key is .*\[redacted: [a-z0-9-]+\][^]* and more$/u);
    assert.ok(!redacted.includes(example.slice(-12)), redacted);
  });
}

test('what people note is no credential', () => {
  const notes = [
    'Likes tea, hates coffee; birthday 1984-11-30, phone +49 30 1234567.',
    'The build runs on commit 9fceb02d0ae598e95dc970b74767f19372d61af8, session 0190b6c2-7d7e-7c3f-9d4b-1c2d3e4f5a6b.',
    'sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'Passwords are in the safe, ask-me-later about the sk-learn pipeline and the task-management-board-for-home-projects.',
    'https://example.com/a?b=c mailto:ann@example.com postgres://localhost/home',
    'The account number is 1234-5678-9012; the key is under the mat; token bucket of size 100.',
    'Bearer of bad news; Authorization is decided by role; Basic facts first.',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk',
    '用户身份校验 نمی‌خواهم 👨‍👩‍👧 café',
  ];
  for (const note of notes) assert.deepEqual(findSecrets(note), [], note);
});

test('a credential is found at every place of a text, short or long', () => {
  const key = `AKIA${filler(16, upper)}`;
  for (let before = 0; before < 40; before += 1) {
    for (const after of [0, 1, 15, 16, 1000])
      assert.equal(
        findSecrets(`${' '.repeat(before)}${key}${' '.repeat(after)}`).length,
        1,
        `${before} ${after}`,
      );
  }
});

test('spans are in order, do not overlap, and lie inside the text, whatever the text', () => {
  const values = Object.values(examples);
  const pieces = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...values)), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join(' ');
      let from = 0;
      for (const { start, end } of findSecrets(text)) {
        assert.ok(from <= start && start < end && end <= text.length);
        from = end;
      }
      assert.equal(findSecrets(redactSecrets(text)).length, 0);
    }),
    { numRuns: 100 },
  );
});

test('a long text is looked through in one pass, also one made to be slow', () => {
  const hostile = [
    `SG.${'a'.repeat(100_000)}`,
    'https://'.repeat(20_000),
    'eyJ'.repeat(30_000),
    '-----BEGIN PRIVATE KEY-----'.repeat(4_000),
    'postgres://a:'.repeat(10_000),
  ];
  for (const text of hostile) findSecrets(text);
});

test('the preset still has the form that is read here', () => {
  const ids = (rules as unknown as { meta: { id: string } }[]).map(({ meta }) => meta.id);
  assert.ok(ids.length > 20);
  for (const id of ids) assert.match(id, /^@secretlint\/secretlint-rule-[a-z0-9-]+$/);
  assert.ok(ids.includes('@secretlint/secretlint-rule-filter-comments'));
});
