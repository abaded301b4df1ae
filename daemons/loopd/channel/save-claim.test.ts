import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimsSave } from './save-claim.ts';

const claims = (answer: string, hasOtherEffects = false) => claimsSave(answer, { hasOtherEffects });

test('an answer that says it saved something is a claim', () => {
  for (const answer of [
    "I've saved that to memory.",
    'Saved to my memory.',
    'Got it! I’ll remember that you prefer tea.',
    'Okay, noted.',
    'Noted: the spare key is behind the clock.',
    'Sure, I will keep that in mind.',
    "I won't forget it.",
    'Memory updated.',
    'That has been recorded. Anything else?',
    'Das habe ich gespeichert.',
    'Ich merke mir das.',
    "C'est noté.",
    'Lo recordaré.',
    'No problem, I have stored this for you.',
  ]) {
    assert.ok(claims(answer), answer);
  }
});

test('an answer that saves nothing, offers to, asks or quotes is none', () => {
  for (const answer of [
    'I did not save that.',
    "I couldn't store it: memory is full.",
    'Nothing was saved.',
    'Shall I remember that?',
    'Would you like me to save that to memory?',
    'I can remember that if you want.',
    'You told me on Monday: "I saved it to memory".',
    '> I have saved that to memory.',
    'The train leaves at nine.',
    'You saved the receipt in the left drawer.',
    'It is a noted restaurant.',
    'Das konnte ich nicht speichern.',
    '',
  ]) {
    assert.ok(!claims(answer), answer);
  }
});

test('after another tool has written something, only memory itself counts', () => {
  assert.ok(!claims('I saved it as notes.txt.', true));
  assert.ok(claims('I saved it to memory.', true));
});
