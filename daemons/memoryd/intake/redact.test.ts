/** Goal: the quick look lets no credential through that the full one finds. Method: one of each kind of shape, and plain text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactSecrets } from '../../../shared/secrets.ts';
import { redacted } from './redact.ts';

/** Put together here, so that no scanner takes this file for a leak. */
const letters = (length: number) => 'aZ3bY7cX9dW2eV5f'.repeat(Math.ceil(length / 16)).slice(0, length);
const upper = (length: number) => 'AB3DEF7GHJ2KLM5N'.repeat(Math.ceil(length / 16)).slice(0, length);

const secrets = [
  `AKIA${upper(16)}`,
  `aws_secret_access_key = ${letters(40)}`,
  `AWS_ACCOUNT_ID = 1234-5678-9012`,
  `ghp_${letters(36)}`,
  `glpat-${letters(20)}`,
  `xoxb-1-a-b`,
  `xapp-1-a-b`,
  `sk-${letters(20)}`,
  `SG.${letters(22)}.${letters(43)}`,
  `npm_${letters(36)}`,
  `//registry.example.org/:_authToken=abc12345`,
  `Authorization: Basic ${'abcdef'.repeat(2)}`,
  `https://ann:b0@example.com`,
  `postgres://ann:secret99@db.example.com/home`,
  `1234567890:AA${letters(33)}`,
  `-----BEGIN RSA PRIVATE KEY-----\n${letters(64)}\n-----END RSA PRIVATE KEY-----`,
];

test('what the full search redacts is redacted, whatever stands around it', () => {
  for (const secret of secrets) {
    const text = `so 漢字 ${secret} end`;
    assert.equal(redacted(text), redactSecrets(text), secret.slice(0, 12));
  }
  assert.ok(secrets.filter((secret) => redactSecrets(` ${secret} `).includes('[redacted')).length >= 12);
});

test('a text without credentials stays as it is', () => {
  const text = 'We met at the internationalization workshop: https://example.org/a?b=c, 12 people. 🙂';
  assert.equal(redacted(text), text);
});
